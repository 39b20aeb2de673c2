// Selects the vertex under the pointer: on the first surface or rod that a ray from the camera
// hits.

import { Raycaster, Vector2, Vector3, type PerspectiveCamera } from "three";
import type { Pane } from "./pane";
import type { SceneObject } from "./run";

export interface Picked {
  object: number;
  vertex: number;
}

// Rods are thin: distance within which a ray hits them (pixels).
const PICK_RADIUS = 5;

export function pick(
  pane: Pane,
  [x, y]: [number, number],
  camera: PerspectiveCamera,
  height: number,
  hidden: Set<string>,
): Picked | undefined {
  const caster = new Raycaster();
  caster.setFromCamera(new Vector2(x, y), camera);
  const { origin, direction } = caster.ray;
  const pixel = (2 * Math.tan((camera.fov * Math.PI) / 360)) / height;
  let best: (Picked & { away: number }) | undefined;
  for (const object of pane.run.objects) {
    const points = pane.file?.floats(`${object.name}/points`);
    if (!points || hidden.has(object.name)) continue;
    const hit = object.edges
      ? rodUnder(object, points, origin, direction, PICK_RADIUS * pixel)
      : surfaceUnder(object, points, origin, direction);
    if (hit && (!best || hit.away < best.away)) best = { object: object.index, ...hit };
  }
  return best && { object: best.object, vertex: best.vertex };
}

interface Hit {
  vertex: number;
  away: number;
}

// Nearest intersection with a triangle (Möller and Trumbore 1997).
function surfaceUnder(
  object: SceneObject,
  points: Float32Array,
  origin: Vector3,
  direction: Vector3,
): Hit | undefined {
  const [a, b, c, u, v, from, p, q] = Array.from({ length: 8 }, () => new Vector3()) as [
    Vector3,
    Vector3,
    Vector3,
    Vector3,
    Vector3,
    Vector3,
    Vector3,
    Vector3,
  ];
  let best: Hit | undefined;
  const triangles = object.triangles ?? new Int32Array();
  for (let t = 0; t < triangles.length; t += 3) {
    const corners = [triangles[t]!, triangles[t + 1]!, triangles[t + 2]!];
    a.fromArray(points, 3 * corners[0]!);
    u.subVectors(b.fromArray(points, 3 * corners[1]!), a);
    v.subVectors(c.fromArray(points, 3 * corners[2]!), a);
    const determinant = u.dot(p.crossVectors(direction, v));
    if (determinant === 0) continue;
    const first = from.subVectors(origin, a).dot(p) / determinant;
    if (!(first >= 0 && first <= 1)) continue;
    const second = direction.dot(q.crossVectors(from, u)) / determinant;
    if (!(second >= 0 && first + second <= 1)) continue;
    const away = v.dot(q) / determinant;
    if (away <= 0 || (best && away >= best.away)) continue;
    const weights = [1 - first - second, first, second];
    best = { vertex: corners[weights.indexOf(Math.max(...weights))]!, away };
  }
  return best;
}

// First edge whose centre line is within its radius, or within reach, of the ray.
function rodUnder(
  object: SceneObject,
  points: Float32Array,
  origin: Vector3,
  direction: Vector3,
  reach: number,
): Hit | undefined {
  const [a, along, from] = [new Vector3(), new Vector3(), new Vector3()];
  const radius = Math.max(...object.radius);
  const edges = object.edges!;
  let best: Hit | undefined;
  for (let e = 0; e < edges.length; e += 2) {
    a.fromArray(points, 3 * edges[e]!);
    along.fromArray(points, 3 * edges[e + 1]!).sub(a);
    from.subVectors(a, origin);
    // Closest points of the edge and the ray.
    const [dd, dt, df] = [along.dot(along), along.dot(direction), along.dot(from)];
    const tf = direction.dot(from);
    const determinant = dd - dt * dt;
    const part = determinant > 0 ? Math.min(1, Math.max(0, (dt * tf - df) / determinant)) : 0;
    from.addScaledVector(along, part);
    const away = from.dot(direction);
    if (away <= 0 || (best && away >= best.away)) continue;
    const miss = from.addScaledVector(direction, -away).length();
    if (miss < Math.max(radius, reach * away))
      best = { vertex: edges[part < 0.5 ? e : e + 1]!, away };
  }
  return best;
}
