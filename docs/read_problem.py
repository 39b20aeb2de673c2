#!/usr/bin/env python3
"""Reads a captured contact problem and recomputes both errors of a solution, with numpy alone.

    reefknot run reefknot --quick --capture 100
    reefknot solve runs/reefknot/problems/00100.safetensors --write solution.safetensors
    python3 docs/read_problem.py runs/reefknot/problems/00100.safetensors solution.safetensors

docs/problems.md defines the arrays and the errors. Each connected part of A is solved as a dense
matrix: take a sparse solver if a part has more than about 10,000 unknowns.
"""
import json
import struct
import sys

import numpy as np

XYZ = np.arange(3)


def read(path):
    """Arrays of a safetensors file, by name."""
    data = open(path, "rb").read()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:start])
    header.pop("__metadata__", None)
    part = lambda t: data[start + t["data_offsets"][0] : start + t["data_offsets"][1]]
    array = lambda t: np.frombuffer(part(t), {"F64": "<f8", "U64": "<i8"}[t["dtype"]])
    return {name: array(t).reshape(t["shape"]) for name, t in header.items()}


def folded(vertices):
    """The unknowns of a closed rod, by the rows of its band."""
    order = [4 * vertices - 1]
    for step in range(vertices):
        vertex = vertices - 1 - step // 2 if step % 2 else step // 2
        order += [*(4 * vertex + XYZ), 4 * vertex - 1 if step % 2 else 4 * vertex + 3]
    return np.array(order[:-1])  # the other half has the twist of the last edge already


def matrix(p):
    """Rows, columns and values of A; values of the same entry add up."""
    parts, first, block, number = [], 0, 0, 0
    add = lambda *entry: parts.append([np.ravel(x) for x in np.broadcast_arrays(*entry)])
    blocks = lambda i, j, s: add(i[:, None, None] + XYZ[:, None], j[:, None, None] + XYZ, s)
    ends = np.split(p["pattern/end"], np.cumsum(p["pattern/nodes"])[:-1])
    begins = np.cumsum([0] + [end[-1] for end in ends if len(end)])
    for kind, count, size, bandwidth, is_closed in p["body"].reshape(-1, 5):
        if kind == 0:  # 3×3 blocks of the lower triangle; `count` is the pattern
            end, total = ends[count], ends[count][-1]
            j = first + 3 * np.repeat(np.arange(len(end)), np.diff(end, prepend=0))
            i = first + 3 * p["pattern/row"][begins[count] :][:total]
            values, low = p["block/value"][block:][:total], i > j
            blocks(i, j, values)
            blocks(j[low], i[low], values[low].transpose(0, 2, 1))
            first, block = first + 3 * len(end), block + total
        else:  # rods: `bandwidth` entries to the left of each diagonal entry
            band = p["rod/band"][number:][: count * size * (bandwidth + 1)]
            order = folded(size // 4) if is_closed else np.arange(size)
            order = first + size * np.arange(count)[:, None] + order
            for left in range(bandwidth + 1):
                values = band.reshape(count, size, -1)[:, left:, left]
                i, j = order[:, left:], order[:, : size - left]
                add(i, j, values)
                add(j, i, values * (left > 0))
            first, number = first + count * size, number + len(band)
    is_free = np.ones(first)
    is_free[p["cut"]] = 0
    for begin, end, tie in zip([0, *p["coupling/end"]], p["coupling/end"], p["coupling/block"]):
        i, j = np.indices((end - begin, end - begin)).reshape(2, -1)
        i, j = (i[i != j], j[i != j]) if p["merged"][0] else (i, j)
        offset, b = p["node/offset"][p["coupling/node"][begin:end]], p["coupling/weight"][begin:end]
        free = b[:, None] * is_free[offset[:, None] + XYZ]
        blocks(offset[i], offset[j], free[i][:, :, None] * tie * free[j][:, None, :])
    return [np.concatenate(part) for part in zip(*parts)]


def solve(entries, right):
    """A⁻¹ times a vector."""
    label, before = np.arange(len(right)), None  # of connected unknowns
    while (label != before).any():
        before = label.copy()
        np.minimum.at(label, entries[0], label[entries[1]])
        label = label[label]
    sort = lambda labels: np.argsort(labels, kind="stable")
    split = lambda labels: np.split(sort(labels), np.cumsum(np.bincount(labels))[:-1])
    index, result = np.empty_like(label), np.empty_like(right)
    for unknowns, chosen in zip(split(label), split(label[entries[0]])):
        i, j, values = (part[chosen] for part in entries)
        index[unknowns], dense = np.arange(len(unknowns)), np.zeros((len(unknowns),) * 2)
        np.add.at(dense, (index[i], index[j]), values)
        result[unknowns] = np.linalg.solve(dense, right[unknowns])
    return result


def project(mu, n, x):
    """The nearest points of the cones |x_T| <= mu x_N."""
    along = (x * n).sum(1, keepdims=True)
    across = x - along * n
    length = np.linalg.norm(across, axis=1, keepdims=True)
    height = (along + mu * length) / (1 + mu**2)
    surface = height * (n + mu * across / np.where(length > 0, length, 1))
    return np.where(length <= mu * along, x, np.where(mu * length <= -along, 0, surface))


def errors(p, r, v=None):
    """Contact error and momentum error (m) of impulses r and velocities v."""
    column = lambda name: p["contact/" + name][:, None]
    h, n, mu, b = p["step"][0], p["contact/normal"], column("friction"), column("weight")
    contact = np.repeat(np.arange(len(r)), np.diff(p["contact/end"], prepend=0))
    node, A, push = p["contact/node"], matrix(p), np.zeros(len(p["force"]))
    unknowns = p["node/offset"][node][:, None] + XYZ
    np.add.at(push, unknowns, b * r[contact])
    push[p["cut"]] = 0  # Bᵀ r; no impulse moves a held unknown
    v = solve(A, p["force"] + push) if v is None else v
    moved = solve(A, np.bincount(A[0], A[2] * v[A[1]]) - p["force"] - push)  # A⁻¹(A v − f − Bᵀ r)
    nodes = np.linalg.norm(moved[p["node/offset"][:, None] + XYZ], axis=1)
    momentum = np.append(nodes, np.abs(moved[p["arm/dof"]] * p["arm/length"])).max()
    u, s = p["contact/kinematic"].copy(), np.zeros((len(r), 1))
    np.add.at(u, contact, b * v[unknowns])  # u = B v + k
    np.add.at(s, contact, b**2 / p["masses"][node][:, None])  # s = Σ b²/m
    u += column("compliance") / h**2 * (r * n).sum(1, keepdims=True) * n  # û
    across = u - (u * n).sum(1, keepdims=True) * n
    u += mu * np.linalg.norm(across, axis=1, keepdims=True) * n  # ũ
    scaled = s * (r + h * column("cohesion") * n)  # s r̂
    return h * np.linalg.norm(scaled - project(mu, n, scaled - u), axis=1).max(), h * momentum


if __name__ == "__main__":
    problem, solution = read(sys.argv[1]), read(sys.argv[2])
    contact, momentum = errors(problem, solution["r"], solution.get("v"))
    print(json.dumps({"contacts": len(solution["r"]), "dofs": len(problem["force"]),
                      "contact_error_m": contact, "momentum_error_m": momentum}))
