import type { NodeAnswer } from '#conductor/api/resources.ts';
import type { ApiClient, Json } from '#conductor/cli/shell/api-client.ts';
import { type CommandInput, type CommandOption, flagOption, textOption } from '#conductor/cli/shell/command.ts';
import { readInputFile } from '#conductor/cli/shell/input-files.ts';
import { usageError } from '#conductor/cli/shell/usage-error.ts';
import { checksumForms, parseImageChecksum } from '#conductor/model/image-checksum.ts';
import { isJsonObject } from '#conductor/model/json-object.ts';
import { isOciSource, parseOciReference } from '#shared/oci/reference.ts';

/** Options that describe the image to write. */
export const imageOptions = {
  image: { value: 'URL', meaning: "image to write; a deploy notes it in the node's instance_info, a plan does not" },
  checksum: { value: 'sha256:HEX|URL', meaning: 'of the image, or the URL of a checksum file; sha512:HEX, too' },
} as const satisfies Record<string, CommandOption>;

/** An image and its checksum, as keys of instance_info. */
type WantedImage = Readonly<Record<string, string>>;

/**
 * Reads what the operator says of the image; `undefined` = nothing.
 * @throws AppError `invalid_argument` for an image without a URL, a checksum of another length, or one without its
 * image.
 */
export function readImage(input: CommandInput): WantedImage | undefined {
  const image = textOption(input, 'image');
  const checksum = textOption(input, 'checksum');
  // before it is noted: a deploy without --image would then be refused, too
  if (image !== undefined && isOciSource(image)) {
    parseOciReference(image, '--image');
    if (checksum !== undefined) throw usageError('--checksum: an oci:// image has its own digest, which is checked');
  } else if (image !== undefined && !/^https?:\/\/\S+$/.test(image)) {
    throw usageError('--image: it must be the http:// or https:// URL of the image, or oci://registry/repository:tag');
  }
  if (image !== undefined) return { image_source: image, ...checksumInfo(checksum) };
  if (checksum !== undefined) throw usageError('--checksum: it goes with --image');
  return undefined;
}

const checksumKeys = ['image_checksum', 'image_os_hash_algo', 'image_os_hash_value'];

/**
 * Finds the fields of the node's instance_info that are others with this image; null = to be taken away, for the
 * checksum of one image must not stay beside the next. Pure.
 */
export function changesForImage(node: NodeAnswer, image: WantedImage): Record<string, string | null> {
  const before = node.instance_info ?? {};
  const keeps = before['image_source'] === image['image_source'] && checksumKeys.every((key) => !(key in image));
  const stale = checksumKeys.filter((key) => !keeps && key in before && !(key in image));
  return { ...image, ...Object.fromEntries(stale.map((key) => [key, null])) };
}

/** Notes the image in the node's instance_info. */
export async function noteImage(client: ApiClient, node: NodeAnswer, image: WantedImage): Promise<void> {
  const patch = Object.entries(changesForImage(node, image)).map(([key, value]) => {
    const path = `/instance_info/${key}`;
    return value === null ? { op: 'remove', path } : { op: 'add', path, value };
  });
  await client.call('PATCH', `/v1/nodes/${node.uuid}`, patch);
}

function checksumInfo(given: string | undefined): Record<string, string> {
  if (given === undefined) return {};
  const checksum = parseImageChecksum(given);
  if (!checksum) throw usageError(`--checksum: it must be ${checksumForms}, not "${given}"`);
  if ('url' in checksum) return { image_checksum: checksum.url };
  return { image_os_hash_algo: checksum.algorithm, image_os_hash_value: checksum.hex };
}

/** A JSON file `{meta_data, user_data, network_data}`, or the base64 text of a gzipped ISO. */
export async function readConfigDrive(file: string): Promise<Json | string> {
  const text = await readInputFile('--config-drive', file);
  if (!text.trimStart().startsWith('{')) return text.trim();
  try {
    const given: unknown = JSON.parse(text);
    if (isJsonObject(given)) return given;
  } catch (cause) {
    throw usageError(`--config-drive: ${file}: it must be a JSON object`, { cause });
  }
  throw usageError(`--config-drive: ${file}: it must be a JSON object`);
}

export const wipeOptions = {
  wipe: { meaning: 'wipe all disks, prove it, and sign a receipt, in place of the usual cleaning' },
  'preserve-local-storage': {
    goesWith: 'wipe',
    meaning: 'with --wipe: only the disk with the operating system, every other stays as it is',
  },
} as const satisfies Record<string, CommandOption>;

/** Makes the wipe as requests and plans have it. */
export function wipeOf(input: CommandInput): { readonly wipe?: object } {
  if (!flagOption(input, 'wipe')) return {};
  return { wipe: { preserve_local_storage: flagOption(input, 'preserve-local-storage') } };
}
