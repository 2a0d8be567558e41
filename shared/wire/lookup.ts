import { z } from 'zod';

/** `GET /v1/lookup` (agent-protocol.md §2.2). Both sides parse with these. */

/** What Baton's conductor adds to the `config` object; a real ironic-python-agent ignores it. */
const BatonLookupConfig = z.object({
  /** Milliseconds between two progress reports (`POST /v1/progress/{node}`); absent from Ironic, so no reports there. */
  progress_interval_ms: z.number().int().positive(),
  /** Whether the image's GRUB may be run on the machine for UEFI; absent from an older conductor, where it may. */
  run_image_programs: z.boolean().optional(),
  /** Whether agents share images with each other (`POST /v1/neighbours/{node}`); absent from an older conductor. */
  image_neighbours: z.boolean().optional(),
  /** Where the agent may fetch from; absent from an older conductor. */
  fetch_from: z
    .object({
      /** Entries of `BATON_IMAGE_URL_ALLOW`; `null` = anywhere but what is refused always. */
      allow: z.array(z.string()).nullable(),
      allow_loopback: z.boolean(),
    })
    .optional(),
});

export const LookupAnswer = z.looseObject({
  node: z.looseObject({ uuid: z.string() }),
  config: z
    .looseObject({
      /** Seconds; the agent beats every 0.3 to 0.6 of it. */
      heartbeat_timeout: z.number().positive(),
      /** 43 url-safe characters the first time in a boot, `******` ever after; absent before 1.62. */
      agent_token: z.string().nullish(),
      agent_token_required: z.boolean().optional(),
      agent_md5_checksum_enable: z.boolean().optional(),
      /** Formats that the agent may write; absent from old APIs. */
      permitted_image_formats: z.array(z.string()).nullish(),
      /** Whether the image's GRUB may be run on the machine for a BIOS; absent from old APIs, where it may. */
      enable_bios_bootloader_install: z.boolean().nullish(),
      baton: BatonLookupConfig.optional(),
    })
    .optional(),
  /** Only from very old APIs, which have no `config`. */
  heartbeat_timeout: z.number().positive().optional(),
});
export type LookupAnswer = z.infer<typeof LookupAnswer>;
