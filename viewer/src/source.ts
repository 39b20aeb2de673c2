// Source of runs: the server of `reefknot view`, or the page itself (`export --to html`).

export interface Status {
  state: "running" | "finished" | "stopped" | "empty" | "gone" | "foreign" | "damaged";
  message: string | null;
  // Ranges of stored frames, both ends included.
  frames: [number, number][];
  // Text that changes if another run replaces this one in its folder.
  identity: string;
}

export interface Job {
  frames: number[];
  width: number;
  height: number;
  look: string;
}

export interface Index {
  version: string;
  runs: { path: string }[];
  job: Job | null;
  // View settings of an exported page.
  look?: string | null;
}

export interface Source {
  // Whether runs can change while they are displayed.
  readonly isLive: boolean;
  index(): Promise<Index>;
  status(run: number): Promise<Status>;
  text(run: number, file: string, from: number): Promise<string>;
  bytes(run: number, file: string): Promise<ArrayBuffer>;
}

export function openSource(): Source {
  const data = document.getElementById("reefknot-data");
  return data ? new EmbeddedSource(data.textContent ?? "") : new ServedSource();
}

class ServedSource implements Source {
  readonly isLive = true;

  async index(): Promise<Index> {
    return (await this.ask("runs.json")).json() as Promise<Index>;
  }

  async status(run: number): Promise<Status> {
    return (await this.ask(`runs/${run}/status.json`)).json() as Promise<Status>;
  }

  async text(run: number, file: string, from: number): Promise<string> {
    return (await this.ask(`runs/${run}/${file}${from > 0 ? `?from=${from}` : ""}`)).text();
  }

  async bytes(run: number, file: string): Promise<ArrayBuffer> {
    return (await this.ask(`runs/${run}/${file}`)).arrayBuffer();
  }

  private async ask(path: string): Promise<Response> {
    let response: Response;
    try {
      response = await fetch(path);
    } catch {
      throw new Error(
        "reefknot no longer responds: start `reefknot view` again, " +
          "and open the address that it prints",
      );
    }
    if (!response.ok) throw new Error((await response.text()) || `${path}: ${response.status}`);
    return response;
  }
}

interface EmbeddedRun {
  path: string;
  status: Status;
  texts: Record<string, string>;
}

class EmbeddedSource implements Source {
  readonly isLive = false;
  private readonly data: { version: string; runs: EmbeddedRun[]; look: string | null };

  constructor(text: string) {
    this.data = JSON.parse(text) as typeof this.data;
  }

  async index(): Promise<Index> {
    return { ...this.data, job: null };
  }

  async status(run: number): Promise<Status> {
    return this.data.runs[run]!.status;
  }

  async text(run: number, file: string, from: number): Promise<string> {
    return from > 0 ? "" : (this.data.runs[run]!.texts[file] ?? "");
  }

  async bytes(run: number, file: string): Promise<ArrayBuffer> {
    const element = document.querySelector(`script[data-run="${run}"][data-file="${file}"]`);
    if (!element) throw new Error(`this page does not contain ${file}`);
    const text = atob((element.textContent ?? "").trim());
    const packed = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return unshuffle(new Uint8Array(await new Response(stream).arrayBuffer()));
  }
}

// Inverse of the byte shuffle of exported files: all first bytes of four, all second bytes, and so
// on. Planes of similar bytes compress better.
export function unshuffle(planes: Uint8Array): ArrayBuffer {
  const bytes = new Uint8Array(planes.length);
  let at = 0;
  for (let plane = 0; plane < 4; plane++) {
    for (let i = plane; i < bytes.length; i += 4) bytes[i] = planes[at++]!;
  }
  return bytes.buffer;
}
