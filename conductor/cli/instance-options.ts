import type { Json } from '#conductor/cli/api-client.ts';
import { type CommandContext, type CommandInput, type CommandOption, textOption } from '#conductor/cli/command.ts';
import { readInputFile } from '#conductor/cli/read-input-file.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** What an operator says of the image to write. */
export const imageOptions = {
  image: { value: 'URL', meaning: "image to write; noted in the node's instance_info" },
  checksum: { value: 'HEX|URL', meaning: 'of the image: sha256 or sha512, told by its length, or where it stands' },
} as const satisfies Record<string, CommandOption>;

/**
 * Notes image and checksum in the node's instance_info.
 * @throws AppError `invalid_argument` for a checksum of another length, or one without its image.
 */
export async function noteImage(context: CommandContext, input: CommandInput, ident: string): Promise<void> {
  const image = textOption(input, 'image');
  const checksum = textOption(input, 'checksum');
  if (image === undefined) {
    if (checksum !== undefined) throw new AppError('invalid_argument', '--checksum: it goes with --image');
    return;
  }
  const info = { image_source: image, ...checksumInfo(checksum) };
  await context.client.call(
    'PATCH',
    `/v1/nodes/${ident}`,
    Object.entries(info).map(([key, value]) => ({ op: 'add', path: `/instance_info/${key}`, value })),
  );
}

function checksumInfo(checksum: string | undefined): Record<string, string> {
  if (checksum === undefined) return {};
  if (/^https?:/.test(checksum)) return { image_checksum: checksum };
  const algorithm = { 64: 'sha256', 128: 'sha512' }[checksum.length];
  if (!algorithm || !/^[0-9a-f]+$/i.test(checksum)) {
    throw new AppError('invalid_argument', '--checksum: it must be a URL, 64 hex digits (sha256) or 128 (sha512)');
  }
  return { image_os_hash_algo: algorithm, image_os_hash_value: checksum };
}

/** A JSON file `{meta_data, user_data, network_data}`, or the base64 text of a gzipped ISO. */
export async function readConfigDrive(file: string): Promise<Json | string> {
  const text = await readInputFile('--config-drive', file);
  if (!text.trimStart().startsWith('{')) return text.trim();
  try {
    return JSON.parse(text) as Json;
  } catch (cause) {
    throw new AppError('invalid_argument', `--config-drive: ${file}: it must be a JSON object`, { cause });
  }
}
