import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';

/** A body that is read from the disk as the receiver takes it, from its beginning each time. */
export interface FileBody extends AsyncIterable<Uint8Array> {
  readonly contentType: string;
  readonly bytes: number;
}

/** The file as it is. */
export async function fileBody(path: string): Promise<FileBody> {
  const { size } = await stat(path);
  return bodyOf('application/octet-stream', size, () => createReadStream(path));
}

/**
 * Makes a multipart form of JSON documents and a file. Documents have no file names, as in DSP0266's example of a push,
 * which no `FormData` can make: some BMCs take what has one for an image.
 */
export async function fileForm(
  documents: readonly { readonly name: string; readonly json: unknown }[],
  file: { readonly name: string; readonly path: string },
): Promise<FileBody> {
  const boundary = `baton-${randomUUID()}`;
  const part = (name: string, type: string): string =>
    `--${boundary}\r\nContent-Disposition: form-data; name=${name}\r\nContent-Type: ${type}\r\n\r\n`;
  const texts = documents.map(
    ({ name, json }) => `${part(`"${name}"`, 'application/json')}${JSON.stringify(json)}\r\n`,
  );
  const fileName = encodeURIComponent(basename(file.path));
  const head = Buffer.from(texts.join('') + part(`"${file.name}"; filename="${fileName}"`, 'application/octet-stream'));
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  const content = await fileBody(file.path);
  return bodyOf(
    `multipart/form-data; boundary=${boundary}`,
    head.length + content.bytes + tail.length,
    async function* parts() {
      yield head;
      yield* content;
      yield tail;
    },
  );
}

function bodyOf(contentType: string, bytes: number, read: () => AsyncIterable<Uint8Array>): FileBody {
  return { contentType, bytes, [Symbol.asyncIterator]: () => read()[Symbol.asyncIterator]() };
}
