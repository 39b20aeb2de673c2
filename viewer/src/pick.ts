// The vertex under the pointer: of the first surface or rod that a ray from the eye meets.

import { Raycaster, Vector2, Vector3, type PerspectiveCamera } from "three";
import type { Pane } from "./pane";
import type { Thing } from "./run";

export interface Picked {
  thing: number;
  vertex: number;
}

// Rods are thin: a ray may miss them by so many pixels.
const REACH = 5;

export function pick(pane: Pane, [x, y]: [number, number], camera: PerspectiveCamera, height: number, hidden: Set<string>): Picked | undefined {
  const caster = new Raycaster();
  caster.setFromCamera(new Vector2(x, y), camera);
  const { origin, direction } = caster.ray;
  const pixel = (2 * Math.tan((camera.fov * Math.PI) / 360)) / height;
  let best: (Picked & { away: number }) | undefined;
  for (const thing of pane.run.things) {
    const points = pane.file?.floats(`${thing.name}/points`);
    if (!points || hidden.has(thing.name)) continue;
    const hit = thing.edges ? rodUnder(thing, points, origin, direction, REACH * pixel) : surfaceUnder(thing, points, origin, direction);
    if (hit && (!best || hit.away < best.away)) best = { thing: thing.index, ...hit };
  }
  return best && { thing: best.thing, vertex: best.vertex };
}

interface Hit {
  vertex: number;
  away: number;
}

// Möller and Trumbore, over all triangles.
function surfaceUnder(thing: Thing, points: Float32Array, origin: Vector3, direction: Vector3): Hit | undefined {
  const [a, b, c, u, v, from, p, q] = Array.from({ length: 8 }, () => new Vector3()) as [Vector3, Vector3, Vector3, Vector3, Vector3, Vector3, Vector3, Vector3];
  let best: Hit | undefined;
  const triangles = thing.triangles ?? new Int32Array();
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

// The first edge whose middle line passes the ray within its radius or the reach.
function rodUnder(thing: Thing, points: Float32Array, origin: Vector3, direction: Vector3, reach: number): Hit | undefined {
  const [a, along, from] = [new Vector3(), new Vector3(), new Vector3()];
  const radius = Math.max(...thing.radius);
  const edges = thing.edges!;
  let best: Hit | undefined;
  for (let e = 0; e < edges.length; e += 2) {
    a.fromArray(points, 3 * edges[e]!);
    along.fromArray(points, 3 * edges[e + 1]!).sub(a);
    from.subVectors(a, origin);
    // Of the edge and of the ray the places that come nearest to each other.
    const [dd, dt, df] = [along.dot(along), along.dot(direction), along.dot(from)];
    const tf = direction.dot(from);
    const determinant = dd - dt * dt;
    const part = determinant > 0 ? Math.min(1, Math.max(0, (dt * tf - df) / determinant)) : 0;
    from.addScaledVector(along, part);
    const away = from.dot(direction);
    if (away <= 0 || (best && away >= best.away)) continue;
    const miss = from.addScaledVector(direction, -away).length();
    if (miss < Math.max(radius, reach * away)) best = { vertex: edges[part < 0.5 ? e : e + 1]!, away };
  }
  return best;
}
