import { z } from 'zod';
import { BiosSettingsArgument } from '#shared/bios/bios-setting.ts';
import { ImageInfo } from '#shared/in-band/image-info.ts';
import { InjectedFile } from '#shared/in-band/injected-file.ts';
import { EraseArgs } from '#shared/wire/erase-result.ts';

/** Arguments of in-band steps: the agent's steps have them, and the conductor reads what is asked for by them before. */

export const ApplyBiosArgs = z.strictObject({
  settings: BiosSettingsArgument,
  admin_password: z.string().optional().describe("The firmware's administrator password, where it has one"),
});

export const CleanNvramArgs = z.strictObject({
  match_patterns: z
    // as the agent's language has them, which may be Python: it says what is none
    .array(z.string().min(1, 'must not be empty'))
    .nullish()
    .describe(
      'Regular expressions: a boot entry goes when one is found in its label or device path. ' +
        'Default: every entry that names a file on a partition, as installed systems make them',
    ),
});

export const InjectFilesArgs = z.strictObject({
  files: z
    .array(InjectedFile)
    .nullish()
    .describe(
      "Files, each with 'path', 'partition' (number, device or label; else found by the path's first folder), " +
        "'content' (base64, or a URL with {node[uuid]} filled in) or 'deleted', 'mode', 'dirmode', 'owner', 'group'. " +
        'Those of properties.inject_files come first',
    ),
  verify_ca: z
    .boolean()
    .nullish()
    .describe("Whether the certificates of the contents' servers are checked; default true"),
});

export const WriteImageArgs = z.object({
  image_info: ImageInfo.describe('The image: id, urls, checksum group, disk_format'),
  configdrive: z
    .string()
    .nullish()
    .describe('Base64 of a gzipped ISO 9660 or FAT file system, or an http(s) URL of it; at most 32 MiB unpacked'),
});

/** By `interface.step`. */
export const inBandArgs: Readonly<Record<string, z.ZodObject>> = {
  'bios.apply_configuration': ApplyBiosArgs,
  'deploy.clean_uefi_nvram': CleanNvramArgs,
  'deploy.erase_devices': EraseArgs,
  'deploy.inject_files': InjectFilesArgs,
  'deploy.write_image': WriteImageArgs,
};
