import { z } from 'zod';

const size = z.coerce.number().int().nonnegative().nullish();

/** `image_info` of the write step (agent-protocol.md §6.1); keys that are not needed here pass unseen. */
export const ImageInfo = z.looseObject({
  /** Last path segment of the image's source. */
  id: z.string(),
  /** The same image at several places: the next one is tried when one fails. */
  urls: z.array(z.url({ protocol: /^https?$/ })).min(1),
  disk_format: z.string().nullish(),
  container_format: z.string().nullish(),
  /** A hex digest, told apart by its length, or the http(s) URL of a checksum file. */
  checksum: z.string().nullish(),
  os_hash_algo: z.string().nullish(),
  os_hash_value: z.string().nullish(),
  image_type: z.string().nullish(),
  kernel: z.string().nullish(),
  ramdisk: z.string().nullish(),
  /** From here on: for partition images. Sizes of partitions; `root_mb` goes before `root_gb`. */
  root_gb: size,
  root_mb: size,
  swap_mb: size,
  ephemeral_mb: size,
  ephemeral_format: z.string().nullish(),
  preserve_ephemeral: z.boolean().nullish(),
  disk_label: z.enum(['gpt', 'msdos']).nullish(),
  deploy_boot_mode: z.enum(['bios', 'uefi']).nullish(),
  boot_option: z.string().nullish(),
  image_server_auth_strategy: z.string().nullish(),
  image_server_user: z.string().nullish(),
  image_server_password: z.string().nullish(),
  /** Base64 of the value of an Authorization header. */
  image_request_authorization: z.string().nullish(),
  proxies: z.record(z.string(), z.string()).nullish(),
});
export type ImageInfo = z.infer<typeof ImageInfo>;
