import { createHash } from 'node:crypto';
import { type FileHandle, open, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { secretsArchive } from '#conductor/boot/ramdisk-files.ts';
import type { Content } from '#conductor/boot/send-file.ts';
import type { PredictedBoot } from '#conductor/model/tpm/judge-boot.ts';
import { AppError } from '#shared/errors/app-error.ts';
import {
  BootMediumLayout,
  deviceMark,
  parametersBytes,
  parametersMark,
  secretsBytes,
} from '#shared/wire/boot-medium.ts';

/** Bytes of the medium from `offset` on that a file has from `from` on. */
interface Piece {
  readonly file: FileHandle;
  readonly offset: number;
  readonly bytes: number;
  readonly from: number;
}

/** Parameters of one boot's kernel. */
export interface BootMediumParams {
  readonly parameters: string;
  /** Parameters that only the agent reads: no command line has them. */
  readonly secrets: readonly string[];
}

/**
 * The CD from which one node boots the ramdisk with these kernel parameters, the secret ones in no command line: nothing
 * of it is made or kept, it is put together of the ramdisk's files as it is read.
 * @param directory holds `boot-medium.json`, `boot-medium.bin` and the files that the former names
 * @throws AppError `not_supported` when the ramdisk in the directory has no boot medium, or another one's
 */
export async function openBootMedium(directory: string, params: BootMediumParams): Promise<Content> {
  const { text, archive } = ownFiles(params);
  await using opened = new AsyncDisposableStack();
  const openFile = async (name: string): Promise<FileHandle> => {
    const file = await open(join(directory, name)).catch((cause: unknown) => {
      throw unusable(directory, `${name} can't be opened`, cause);
    });
    opened.defer(() => file.close());
    return file;
  };
  const note = await openFile('boot-medium.json');
  const layout = readLayout(directory, await note.readFile('utf8'));
  const rest = await openFile('boot-medium.bin');
  const pieces: Piece[] = [];
  let [offset, from] = [0, 0];
  const addRest = (end: number): void => {
    pieces.push({ file: rest, offset, bytes: end - offset, from });
    from += end - offset;
  };
  for (const each of layout.files) {
    const file = await openFile(each.name);
    const { size } = await file.stat();
    if (size !== each.bytes) throw unusable(directory, `it was made for another ${each.name}`);
    addRest(each.offset);
    pieces.push({ file, offset: each.offset, bytes: each.bytes, from: 0 });
    offset = each.offset + each.bytes;
  }
  addRest(layout.size);
  const { mtimeMs } = await note.stat();
  const files = opened.move();
  return {
    size: layout.size,
    etag: `"${createHash('sha256').update(String(mtimeMs)).update(text).update(archive).digest('base64url')}"`,
    lastModified: new Date(mtimeMs).toUTCString(),
    read: async (position, length) => {
      const piece = pieces.find((each) => position >= each.offset && position < each.offset + each.bytes);
      if (!piece) return new Uint8Array();
      const inPiece = position - piece.offset;
      const wanted = Math.min(length, piece.bytes - inPiece);
      const { bytesRead, buffer } = await piece.file.read(Buffer.allocUnsafeSlow(wanted), {
        position: piece.from + inPiece,
      });
      const bytes = buffer.subarray(0, bytesRead);
      overlay(bytes, position, text, layout.parameters);
      overlay(bytes, position, archive, layout.secrets);
      return bytes;
    },
    close: () => files.disposeAsync(),
  };
}

/** Files of the medium that one boot has for itself: `node.cfg` and `secrets.img`. */
function ownFiles({ parameters, secrets }: BootMediumParams): { readonly text: Buffer; readonly archive: Buffer } {
  const text = Buffer.alloc(parametersBytes, '\n');
  const line = `set baton_parameters='${parameters.replaceAll("'", "'\\''")}'\n`;
  if (Buffer.byteLength(line) > parametersBytes) {
    throw new AppError('invalid_argument', `the kernel parameters must have less than ${parametersBytes} bytes`);
  }
  text.write(line);
  return { text, archive: Buffer.concat([secretsArchive(secrets)], secretsBytes) };
}

/**
 * Predicts what a machine measures that boots this medium under UEFI.
 * @param served the parameters that it may have been served with
 * @returns `undefined`: a medium of an older release, or parameters whose quotes GRUB's measurements write otherwise
 */
export async function predictMedium(
  directory: string,
  served: readonly BootMediumParams[],
): Promise<PredictedBoot | undefined> {
  const note = await readFile(join(directory, 'boot-medium.json'), 'utf8').catch((cause: unknown) => {
    throw unusable(directory, "boot-medium.json can't be read", cause);
  });
  const { measured } = readLayout(directory, note);
  if (!measured || served.some(({ parameters }) => /["'\\$]/.test(parameters))) return undefined;
  const sha256 = (content: Buffer | string): string => createHash('sha256').update(content).digest('hex');
  const events = measured.events.map((event) => ({
    ...('text' in event ? { pcr: 8, subject: event.text } : { pcr: 9, subject: event.file }),
    digests: served.flatMap((params) => {
      if ('text' in event) return textsOf(event.text, params).map(sha256);
      const { text, archive } = ownFiles(params);
      const own: Readonly<Record<string, Buffer>> = { 'node.cfg': text, 'secrets.img': archive };
      return [event.sha256 ?? sha256(own[event.file] ?? '')];
    }),
  }));
  return { programs: measured.programs, kernel: measured.kernel, events };
}

function textsOf(template: string, { parameters }: BootMediumParams): readonly string[] {
  const text = template.replaceAll(parametersMark, () => parameters);
  return text.includes(deviceMark) ? devices.map((device) => text.replaceAll(deviceMark, device)) : [text];
}

/** GRUB's names of the drive that it was loaded from, which depend on what else a machine has. */
const devices = ['cd', 'hd'].flatMap((kind) => [kind, ...Array.from({ length: 64 }, (_, index) => `${kind}${index}`)]);

/** Puts `content`, which begins at `at`, into those of its bytes that begin at `position`. */
function overlay(bytes: Buffer, position: number, content: Buffer, at: number): void {
  const start = Math.max(0, position - at);
  const into = Math.max(0, at - position);
  if (start < content.length && into < bytes.length) content.copy(bytes, into, start);
}

/**
 * Whether the agent of the directory's ramdisk reads secrets from an initrd of their own: an ironic-python-agent doesn't,
 * also where it was put in the place of a ramdisk whose `boot-medium.json` is left.
 */
export async function readsBootSecrets(directory: string): Promise<boolean> {
  try {
    const layout = BootMediumLayout.safeParse(JSON.parse(await readFile(join(directory, 'boot-medium.json'), 'utf8')));
    const files = layout.data?.files ?? [];
    const sizes = await Promise.all(files.map(async ({ name }) => (await stat(join(directory, name))).size));
    return layout.success && files.every(({ bytes }, index) => sizes[index] === bytes);
  } catch {
    return false; // no such file, or half of one: nothing that this conductor knows
  }
}

function readLayout(directory: string, text: string): BootMediumLayout {
  const layout = BootMediumLayout.safeParse(JSON.parse(text));
  if (layout.success) return layout.data;
  throw unusable(directory, 'boot-medium.json is of another version', layout.error);
}

function unusable(directory: string, why: string, cause?: unknown): AppError {
  return new AppError(
    'not_supported',
    `the ramdisk in ${directory} can't be booted by virtual media: boot-medium: ${why}; \`npm run image\` makes it`,
    { cause },
  );
}
