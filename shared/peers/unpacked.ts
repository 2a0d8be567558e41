import { pipeline, Readable, type Transform } from 'node:stream';
import { createGunzip, createInflate, createInflateRaw } from 'node:zlib';
import { AppError } from '#shared/errors/app-error.ts';

/** Decoders of the encodings that are known, by an answer's first bytes: `deflate` comes with zlib's header and without it. */
const decoders: Readonly<Record<string, (first: Buffer) => Transform>> = {
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  deflate: (first) => (hasZlibHeader(first) ? createInflate() : createInflateRaw()),
};

/**
 * Returns a body as it was before the peer compressed it, asked or not (HPE's iLO from 2.30 on). A body without bytes is
 * empty whatever its encoding: some peers name one for a body that is not there.
 * @param encoding the answer's `Content-Encoding`
 * @throws AppError `not_supported` for an encoding that nobody asked for and that isn't known here
 */
export async function unpacked(
  body: Readable,
  encoding: string | readonly string[] | undefined,
): Promise<AsyncIterable<Uint8Array>> {
  const name = String(encoding ?? '')
    .trim()
    .toLowerCase();
  if (name === 'identity' || name === '') return body;
  // a fault is the reader's, also one that comes before the body is read: without this it would end the process
  body.on('error', () => undefined);
  const decoder = Object.hasOwn(decoders, name) ? decoders[name] : undefined;
  if (!decoder) {
    body.destroy();
    throw new AppError('not_supported', `the answer has the Content-Encoding ${name}, which is not known`);
  }
  const first = await firstBytes(body);
  if (first.length === 0) return Readable.from([]);
  // one that has ended takes nothing back
  const source = body.readableEnded ? Readable.from([first]) : body;
  if (source === body) body.unshift(first);
  // a fault of either ends both, and comes out of the loop
  return pipeline(source, decoder(first), () => undefined);
}

const headerBytes = 2;

/** Reads as many bytes as a header has, or a few more; fewer where the body ends before. */
async function firstBytes(body: Readable): Promise<Buffer> {
  let first = Buffer.alloc(0);
  for await (const part of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>) {
    first = Buffer.concat([first, part]);
    if (first.length >= headerBytes) break;
  }
  return first;
}

/** Whether the bytes begin as RFC 1950 has it: method 8, and a number that 31 divides. Some servers leave the header out. */
function hasZlibHeader([method = 0, flags = 0]: Uint8Array): boolean {
  return (method & 0x0f) === 8 && method >> 4 <= 7 && (method * 256 + flags) % 31 === 0;
}
