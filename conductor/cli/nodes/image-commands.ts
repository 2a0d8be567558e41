import { basename } from 'node:path';
import type { ImageAnswer, MeasuredImageAnswer, PrunedImagesAnswer } from '#conductor/api/images.ts';
import { openImage, type RegistryPlace } from '#conductor/cli/nodes/open-image.ts';
import { answerFor, callFor, readList } from '#conductor/cli/shell/api-client.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  flagOption,
  numberOption,
  pathOperand,
  textOption,
} from '#conductor/cli/shell/command.ts';
import { formatBytes } from '#conductor/cli/shell/format-units.ts';
import { forEachOperand } from '#conductor/cli/shell/on-nodes.ts';
import { fieldTable, print, table } from '#conductor/cli/shell/print.ts';
import { usageError } from '#conductor/cli/shell/usage-error.ts';
import { writeStore } from '#shared/chunks/write-store.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { isOciSource, parseOciReference } from '#shared/oci/reference.ts';
import { counted, nameSome } from '#shared/words.ts';

const path = '/v1/images';

async function add(context: CommandContext, input: CommandInput): Promise<void> {
  const [source = ''] = input.operands;
  const checksum = textOption(input, 'checksum');
  const arch = textOption(input, 'arch');
  const isInRegistry = isOciSource(source);
  if (isInRegistry && checksum !== undefined)
    throw usageError('--checksum: an oci:// image has its own digest, which is checked');
  if (!isInRegistry && arch !== undefined) throw usageError('--arch: it chooses among images of a registry (oci://…)');
  const name = textOption(input, 'name') ?? nameOf(source);
  if (!/^[A-Za-z0-9][\w.-]{0,99}$/.test(name)) {
    throw usageError(`--name: it must be letters, digits, dots, hyphens and underscores, not "${name}"`);
  }
  const folder = textOption(input, 'folder') ?? context.imagesDirectory;
  if (folder === undefined) throw usageError('--folder: it must be given: what your web server serves');
  const place = isInRegistry ? await findInRegistry(context, source, arch) : undefined;
  await using image = await openImage(source, folder, { checksum, place });
  const { index, sha256, imageBytes, chunks, newChunks, newBytes } = await writeStore(image.content, folder, name);
  const json = {
    index,
    checksum: `sha256:${sha256}`,
    size: imageBytes,
    chunks,
    new_chunks: newChunks,
    new_bytes: newBytes,
  };
  const added = `${counted(chunks, 'chunk')} of ${formatBytes(imageBytes)}, ${newChunks} of them new (${formatBytes(newBytes)} stored)`;
  print(context, input, { json, text: `${index}: ${added}\nchecksum: ${json.checksum}\n` });
}

/** Makes the default name of an index: the file's without its endings, or repository and tag. */
function nameOf(source: string): string {
  const file = basename(source.replace(/[?#].*$/, '')).split('.')[0] ?? '';
  if (!isOciSource(source)) return file;
  const { repository, tag } = parseOciReference(source, 'the image');
  const last = basename(repository);
  return tag === undefined || tag === 'latest' ? last : `${last}-${tag}`;
}

async function findInRegistry(
  context: CommandContext,
  source: string,
  arch: string | undefined,
): Promise<RegistryPlace> {
  // nothing else of the CLI needs it
  const { findImageToAdd } = await import('#conductor/cli/nodes/find-image-to-add.ts');
  return findImageToAdd(source, arch, context);
}

async function list(context: CommandContext, input: CommandInput): Promise<void> {
  const images = await readList<ImageAnswer>(context.client, path, 'images');
  const rows = images.map((image) => [image.name, sizeOf(image), image.added_at.slice(0, 10), usersOf(image)]);
  print(context, input, { json: images, text: table([['name', 'size', 'added', 'used by'], ...rows]) });
}

/** Reads an image by its name, or by the file that a deploy names: `debian` and `debian.caibx`. */
async function findImage({ client }: CommandContext, name: string): Promise<MeasuredImageAnswer | undefined> {
  const read = (each: string) => callFor<MeasuredImageAnswer>(client, 'GET', `${path}/${each}`);
  return (await read(name)) ?? (name.endsWith('.caibx') ? await read(name.slice(0, -'.caibx'.length)) : undefined);
}

async function show(context: CommandContext, input: CommandInput): Promise<void> {
  const name = pathOperand(input);
  const image = await findImage(context, name);
  if (!image) throw new AppError('not_found', `there is no image ${name}: \`baton image list\` shows them`);
  const text = fieldTable({
    name: image.name,
    checksum: image.checksum,
    size: sizeOf(image),
    stored: `${formatBytes(image.stored_bytes)}, ${formatBytes(image.own_bytes)} of it for this image alone`,
    added: image.added_at,
    'used by': usersOf(image, Infinity),
  });
  print(context, input, { json: image, text });
}

async function prune(context: CommandContext, input: CommandInput): Promise<void> {
  const acts = flagOption(input, 'yes');
  const days = numberOption(input, 'older-than', 0);
  const body = { dry_run: !acts, ...(days === undefined ? {} : { older_than_days: days }) };
  const answer = await answerFor<PrunedImagesAnswer>(context.client, 'prune images', 'POST', `${path}/prune`, body);
  const { images, kept, chunks, bytes } = answer;
  const names = images.length === 0 ? 'no image' : images.join(', ');
  const others = `${counted(kept.length, 'image')} ${kept.length === 1 ? 'is' : 'are'} kept`;
  const stays = kept.length === 0 ? others : `${others}: younger than ${counted(days ?? 7, 'day')} or in use`;
  const text = acts
    ? `removed ${names}; ${counted(chunks, 'chunk')} (${formatBytes(bytes)}); ${stays}\n`
    : `would remove ${names}, and chunks that no image has: --yes does; ${stays}\n`;
  print(context, input, { json: answer, text });
}

function sizeOf({ size }: Pick<ImageAnswer, 'size'>): string {
  return size === null ? 'damaged' : formatBytes(size);
}

function usersOf({ users }: Pick<ImageAnswer, 'users'>, most = 3): string {
  if (users.length === 0) return '-';
  return nameSome(
    users.map(({ kind, id, name }) => `${kind.replace('_', ' ')} ${kind === 'site_revision' ? id : (name ?? id)}`),
    most,
  );
}

export const imageCommands: readonly Command[] = [
  {
    words: 'image add',
    operands: ['FILE|URL'],
    options: {
      folder: {
        value: 'FOLDER',
        meaning: 'of your web server (default BATON_IMAGES_DIR): gets NAME.caibx and, in default.castr, missing chunks',
      },
      name: { value: 'NAME', meaning: "of the index (default: the file's, without its endings; REPOSITORY-TAG)" },
      arch: { value: 'ARCH', meaning: 'of an image that a registry has for several: x86_64, aarch64' },
      checksum: { value: 'sha256:HEX', meaning: 'of the file as it stands; sha512:HEX, too' },
    },
    meaning: 'cut a disk image into chunks; machines fetch only those missing on their disk',
    details:
      'The image is raw, raw and compressed with zstd, gzip or xz, or qcow2 (qemu-img converts it). Deploy the URL of\n' +
      'NAME.caibx with the checksum that is printed. The files are what casync and desync read and write; the same image\n' +
      'makes the same files. oci://REGISTRY/REPOSITORY:TAG (or @sha256:…) is read from a registry, with the login that\n' +
      'BATON_OCI_AUTH_FILE has for it, by plain HTTP where BATON_OCI_PLAIN_HTTP lists it.',
    offline: true,
    run: add,
  },
  { words: 'image list', meaning: 'images in chunks that the conductor serves, and what uses them', run: list },
  { words: 'image show', operands: ['IMAGE'], meaning: 'an image, what it takes, and all that uses it', run: show },
  {
    words: 'image remove',
    operands: ['IMAGE...'],
    meaning: 'remove images that nothing uses; their chunks stay until a prune',
    run: (context, input) =>
      forEachOperand(context, input, async (name, ident) => {
        const found = name.endsWith('.caibx') ? ((await findImage(context, ident))?.name ?? name) : name;
        await context.client.call('DELETE', `${path}/${encodeURIComponent(found)}`);
        return { json: { removed: found }, text: `image ${found} is removed\n` };
      }),
  },
  {
    words: 'image prune',
    options: {
      'older-than': { value: 'DAYS', meaning: 'images added before (default: 7)' },
      yes: { meaning: 'remove them; without it they are only listed' },
    },
    meaning: 'remove images that no node, flow, template, runbook or site revision names, and chunks that no image has',
    run: prune,
  },
];
