import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import { text } from 'node:stream/consumers';
import { type Command, requiredOption, textOption, usageError } from '#conductor/cli/command.ts';
import { formatBytes } from '#conductor/cli/format-units.ts';
import { print } from '#conductor/cli/print.ts';
import { writeStore } from '#shared/chunks/write-store.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { start } from '#shared/process/run.ts';

/** By a file's first bytes. Programs, because they see an end that is missing, which Node's zstd does not. */
const unpackers: readonly (readonly [hex: string, program: string])[] = [
  ['28b52ffd', 'zstd'],
  ['1f8b08', 'gzip'],
  ['fd377a585a00', 'xz'],
];
const qcow2 = '514649fb';

export const imageCommands: readonly Command[] = [
  {
    words: 'image add',
    operands: ['FILE'],
    options: {
      folder: {
        value: 'FOLDER',
        required: 'what your web server serves',
        meaning: 'gets NAME.caibx and, in default.castr, the chunks that it lacks',
      },
      name: { value: 'NAME', meaning: "of the index (default: the file's, without its endings)" },
    },
    meaning: 'cut a disk image into chunks, of which machines fetch only those that their disk lacks',
    details:
      'FILE is a raw image, which may be compressed with zstd, gzip or xz. Deploy the URL of NAME.caibx with the checksum\n' +
      'that is printed. The files are what casync and desync read and write; the same image makes the same files.',
    offline: true,
    run: async (context, input) => {
      const [file = ''] = input.operands;
      const name = textOption(input, 'name') ?? basename(file).split('.')[0] ?? '';
      if (!/^[A-Za-z0-9][\w.-]{0,99}$/.test(name)) {
        throw usageError(`--name: it must be letters, digits, dots, hyphens and underscores, not "${name}"`);
      }
      const image = await openImage(file);
      const stored = await writeStore(image, requiredOption(input, 'folder'), name);
      const { index, sha256, imageBytes, chunks, newChunks, newBytes } = stored;
      const json = {
        index,
        checksum: `sha256:${sha256}`,
        size: imageBytes,
        chunks,
        new_chunks: newChunks,
        new_bytes: newBytes,
      };
      const added = `${chunks} chunks of ${formatBytes(imageBytes)}, ${newChunks} of them new (${formatBytes(newBytes)} stored)`;
      print(context, input, { json, text: `${index}: ${added}\nchecksum: ${json.checksum}\n` });
    },
  },
];

/** @throws AppError `invalid_argument` when it can't be read, `not_supported` for what it can't take. */
async function openImage(file: string): Promise<AsyncIterable<Uint8Array>> {
  if (/^https?:/i.test(file)) {
    throw new AppError('not_supported', `an image is added from a file: download ${file} first`);
  }
  const head = await readHead(file);
  if (head.startsWith(qcow2)) {
    throw new AppError(
      'not_supported',
      `${file} is qcow2: convert it first (qemu-img convert -f qcow2 -O raw ${file} disk.raw)`,
    );
  }
  const program = unpackers.find(([magic]) => head.startsWith(magic))?.[1];
  return program === undefined ? createReadStream(file, { highWaterMark: 1024 * 1024 }) : unpack(program, file);
}

async function readHead(file: string): Promise<string> {
  try {
    await using handle = await open(file);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(8), 0, 8, 0);
    return buffer.toString('hex', 0, bytesRead);
  } catch (cause) {
    throw usageError(`read ${file}`, { cause });
  }
}

async function* unpack(program: string, file: string): AsyncGenerator<Uint8Array> {
  const running = start(program, ['-dc', '--', file]);
  const errors = text(running.stderr);
  try {
    yield* running.stdout as AsyncIterable<Uint8Array>;
    const code = await running.exited;
    if (code !== 0)
      throw new AppError('image_error', `unpack ${file}: ${(await errors).trim() || `${program} exited with ${code}`}`);
  } finally {
    running.kill();
  }
}
