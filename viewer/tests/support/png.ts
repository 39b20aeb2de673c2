// Decoder for PNG files of a canvas: 8 bits, RGB or RGBA, not interlaced.

import { inflateSync } from "node:zlib";

export class Picture {
  constructor(
    readonly width: number,
    readonly height: number,
    // Red, green, blue of each pixel.
    readonly pixels: Uint8Array,
  ) {}

  static decode(file: Buffer): Picture {
    if (file.toString("latin1", 1, 4) !== "PNG") throw new Error("not a PNG file");
    const [width, height] = [file.readUInt32BE(16), file.readUInt32BE(20)];
    const [depth, kind, interlace] = [file[24], file[25], file[28]];
    if (depth !== 8 || (kind !== 2 && kind !== 6) || interlace !== 0)
      throw new Error(`unsupported PNG: depth ${depth}, kind ${kind}, interlace ${interlace}`);
    const parts: Buffer[] = [];
    for (let at = 8; at < file.length; at += 12 + file.readUInt32BE(at)) {
      if (file.toString("latin1", at + 4, at + 8) === "IDAT")
        parts.push(file.subarray(at + 8, at + 8 + file.readUInt32BE(at)));
    }
    return new Picture(
      width,
      height,
      unfilter(inflateSync(Buffer.concat(parts)), width, height, kind === 6 ? 4 : 3),
    );
  }

  count(matches: (r: number, g: number, b: number) => boolean): number {
    let count = 0;
    for (let i = 0; i < this.pixels.length; i += 3)
      if (matches(this.pixels[i]!, this.pixels[i + 1]!, this.pixels[i + 2]!)) count++;
    return count;
  }

  // Number of pixels within a tolerance of a colour, such as "2f7fd1".
  countLike(hex: string, tolerance = 6): number {
    const [red, green, blue] = [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)) as [
      number,
      number,
      number,
    ];
    return this.count(
      (r, g, b) =>
        Math.max(Math.abs(r - red), Math.abs(g - green), Math.abs(b - blue)) <= tolerance,
    );
  }

  get colours(): number {
    const seen = new Set<number>();
    for (let i = 0; i < this.pixels.length; i += 3)
      seen.add((this.pixels[i]! << 16) | (this.pixels[i + 1]! << 8) | this.pixels[i + 2]!);
    return seen.size;
  }

  // Number of pixels that differ from the background, the colour of the upper left corner.
  get drawn(): number {
    const [red, green, blue] = this.pixels;
    return this.count((r, g, b) => r !== red || g !== green || b !== blue);
  }

  // The part between two horizontal positions, as fractions of the width.
  columns(from: number, to: number): Picture {
    const [left, right] = [Math.round(from * this.width), Math.round(to * this.width)];
    const rows = Array.from({ length: this.height }, (_, y) =>
      this.pixels.subarray(3 * (y * this.width + left), 3 * (y * this.width + right)),
    );
    return new Picture(right - left, this.height, Buffer.concat(rows));
  }

  // Number of pixels that differ from another image by more than `tolerance` of 255.
  differences(other: Picture, tolerance = 0): number {
    if (other.width !== this.width || other.height !== this.height) return Infinity;
    let count = 0;
    for (let i = 0; i < this.pixels.length; i += 3) {
      const most = Math.max(
        ...[0, 1, 2].map((k) => Math.abs(this.pixels[i + k]! - other.pixels[i + k]!)),
      );
      if (most > tolerance) count++;
    }
    return count;
  }
}

// Each row starts with the number of its filter, which predicts bytes from their neighbours.
function unfilter(bytes: Buffer, width: number, height: number, channels: number): Uint8Array {
  const stride = width * channels;
  const rows = new Uint8Array(stride * height);
  const pixels = new Uint8Array(3 * width * height);
  for (let y = 0; y < height; y++) {
    const filter = bytes[y * (stride + 1)]!;
    for (let x = 0; x < stride; x++) {
      const left = x >= channels ? rows[y * stride + x - channels]! : 0;
      const above = y > 0 ? rows[(y - 1) * stride + x]! : 0;
      const corner = y > 0 && x >= channels ? rows[(y - 1) * stride + x - channels]! : 0;
      rows[y * stride + x] =
        bytes[y * (stride + 1) + 1 + x]! +
        [0, left, above, (left + above) >> 1, paeth(left, above, corner)][filter]!;
    }
  }
  for (let i = 0; i < width * height; i++)
    for (let k = 0; k < 3; k++) pixels[3 * i + k] = rows[channels * i + k]!;
  return pixels;
}

function paeth(left: number, above: number, corner: number): number {
  const guess = left + above - corner;
  const [toLeft, toAbove, toCorner] = [
    Math.abs(guess - left),
    Math.abs(guess - above),
    Math.abs(guess - corner),
  ];
  if (toLeft <= toAbove && toLeft <= toCorner) return left;
  return toAbove <= toCorner ? above : corner;
}
