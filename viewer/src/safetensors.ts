// Reader of safetensors files: length of the header in 8 bytes, JSON header, arrays.

export type Numbers = Float32Array | Int32Array | Uint8Array;

export interface Tensor {
  shape: number[];
  data: Numbers;
}

export class TensorFile {
  readonly bytes: number;
  private constructor(
    private readonly tensors: Map<string, Tensor>,
    bytes: number,
  ) {
    this.bytes = bytes;
  }

  static read(buffer: ArrayBuffer): TensorFile {
    if (buffer.byteLength < 8) throw new Error("the file is truncated");
    const length = new DataView(buffer).getUint32(0, true);
    if (8 + length > buffer.byteLength) throw new Error("the file is truncated");
    const header: unknown = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
    const tensors = new Map<string, Tensor>();
    for (const [name, entry] of Object.entries(header as Record<string, Entry>)) {
      if (name === "__metadata__") continue;
      const [begin, end] = entry.data_offsets;
      if (8 + length + end > buffer.byteLength)
        throw new Error(`the file is truncated within ${name}`);
      tensors.set(name, {
        shape: entry.shape,
        data: view(entry.dtype, buffer, 8 + length + begin, end - begin),
      });
    }
    return new TensorFile(tensors, buffer.byteLength);
  }

  get(name: string): Tensor | undefined {
    return this.tensors.get(name);
  }

  floats(name: string): Float32Array | undefined {
    const data = this.tensors.get(name)?.data;
    return data instanceof Float32Array ? data : undefined;
  }

  integers(name: string): Int32Array | undefined {
    const data = this.tensors.get(name)?.data;
    return data instanceof Int32Array ? data : undefined;
  }

  names(): IterableIterator<string> {
    return this.tensors.keys();
  }
}

interface Entry {
  dtype: string;
  shape: number[];
  data_offsets: [number, number];
}

function view(dtype: string, buffer: ArrayBuffer, begin: number, bytes: number): Numbers {
  switch (dtype) {
    case "F32":
      return new Float32Array(buffer, begin, bytes / 4);
    case "I32":
      return new Int32Array(buffer, begin, bytes / 4);
    case "U8":
      return new Uint8Array(buffer, begin, bytes);
    case "F64":
      return Float32Array.from(new Float64Array(buffer.slice(begin, begin + bytes)));
    default:
      throw new Error(`unknown data type ${dtype}`);
  }
}
