import { z } from 'zod';

/** The agent's command API (agent-protocol.md §4). */

const commandStatuses = ['RUNNING', 'SUCCEEDED', 'FAILED', 'CLEAN_VERSION_MISMATCH'] as const;
export type CommandStatus = (typeof commandStatuses)[number];

export const CommandError = z.looseObject({
  type: z.string().optional(),
  code: z.number().optional(),
  message: z.string().nullish(),
  details: z.string().nullish(),
  /** An `ErrorCode` and a `Situation` with its subject, from Baton's agent; absent from Ironic's and from older ones. */
  baton_code: z.string().optional().catch(undefined),
  baton_situation: z.string().optional().catch(undefined),
  baton_subject: z.string().max(200).optional().catch(undefined),
});
export type CommandError = z.infer<typeof CommandError>;

/** One command as the agent reports it: exactly these five keys. */
export const CommandResult = z.object({
  id: z.string(),
  /** Without the extension prefix: `execute_deploy_step`. */
  command_name: z.string(),
  command_status: z.string(),
  command_error: CommandError.nullable(),
  command_result: z.unknown(),
});
export type CommandResult = z.infer<typeof CommandResult>;

export const CommandList = z.object({ commands: z.array(CommandResult) });

/** `POST /v1/commands/`: `name` is `<extension>.<command>`. */
export const CommandRequest = z.object({
  name: z.string(),
  params: z.record(z.string(), z.unknown()),
});
export type CommandRequest = z.infer<typeof CommandRequest>;

/** Error bodies are flat and always carry `faultstring`. */
export const AgentFault = z.looseObject({ faultcode: z.string().optional(), faultstring: z.string() });

/** `POST /v1/heartbeat/{node}` (agent-protocol.md §2.3): the body the agent sends. */
export const Heartbeat = z.strictObject({
  /** `https://192.0.2.10:9999`, IPv6 addresses in brackets. */
  callback_url: z.string(),
  agent_version: z.string().optional(),
  agent_token: z.string().optional(),
  /** The agent's self-signed certificate, PEM. */
  agent_verify_ca: z.string().optional(),
  agent_status: z.enum(['start', 'end', 'error']).optional(),
  agent_status_message: z.string().optional(),
});
export type Heartbeat = z.infer<typeof Heartbeat>;

/** `GET /v1/lookup` (agent-protocol.md §2.2). Both sides parse with these. */

/** Fields that Baton's conductor adds to the `config` object; a real ironic-python-agent ignores them. */
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

/**
 * Kernel parameters of one boot that are no one else's to read, in the ramdisk, which gets them as an initrd of their own
 * from its CD or from iPXE.
 */
export const bootSecretsFile = '/etc/baton/boot-secrets';

/** With it a lookup proves that it comes from the machine that was given the boot's token. Ironic ignores it. */
export const bootTokenHeader = 'x-baton-boot-token';
