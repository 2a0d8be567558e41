/** Files of a gzipped tar, as `GET …/flow/logs` answers one, in a browser. */

export interface ArchivedFile {
  readonly name: string;
  /** The end of what it holds. */
  readonly text: string;
  readonly bytes: number;
}

interface Unpacked {
  readonly readable: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly writable: WritableStream<Uint8Array<ArrayBuffer>>;
}
declare const DecompressionStream: new (format: 'gzip') => Unpacked;

const block = 512;
/** Bytes that are shown of each file: more is read in an editor. */
export const shownBytes = 200_000;

/** @throws Error for what is not a gzipped tar */
export async function readArchive(packed: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<ArchivedFile[]> {
  return listFiles(
    new Uint8Array(await new Response(packed.pipeThrough(new DecompressionStream('gzip'))).arrayBuffer()),
  );
}

/** Pure. */
export function listFiles(tar: Uint8Array): ArchivedFile[] {
  const files: ArchivedFile[] = [];
  const decoder = new TextDecoder();
  const text = (from: number, length: number): string =>
    decoder.decode(tar.subarray(from, from + length)).replace(/\0.*$/s, '');
  let longName: string | undefined;
  for (let at = 0; at + block <= tar.length && tar[at] !== 0; ) {
    // POSIX.1-1988 ustar: name, size in octal, type, prefix; GNU's type L is the name of the next
    const bytes = Number.parseInt(text(at + 124, 12), 8);
    if (Number.isNaN(bytes)) throw new Error('the archive of the logs is damaged');
    const type = String.fromCharCode(tar[at + 156] ?? 0);
    const [name, prefix, start] = [text(at, 100), text(at + 345, 155), at + block];
    at = start + Math.ceil(bytes / block) * block;
    if (type === 'L') {
      longName = text(start, bytes);
      continue;
    }
    if (type === '0' || type === '\0') {
      const shown = Math.min(bytes, shownBytes);
      const content = decoder.decode(tar.subarray(start + bytes - shown, start + bytes));
      files.push({ name: longName ?? (prefix === '' ? name : `${prefix}/${name}`), text: content, bytes });
    }
    longName = undefined;
  }
  return files;
}
