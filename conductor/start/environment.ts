import { hostname } from 'node:os';
import { z } from 'zod';
import { consoleAccess } from '#conductor/agents/context.ts';
import { allocationEnvironment } from '#conductor/allocations/context.ts';
import { authEnvironment } from '#conductor/auth/auth-settings.ts';
import { dhcpEnvironment } from '#conductor/boot/dhcp/dhcp-settings.ts';
import { clusterEnvironment } from '#conductor/cluster/cluster-settings.ts';
import { conductorEnvironment } from '#conductor/kernel/conductor-settings.ts';
import { namesPrimary } from '#conductor/kernel/db/session/database-url.ts';
import { traceEnvironment } from '#conductor/kernel/traces/trace-settings.ts';
import { attestationModes } from '#conductor/model/tpm/attestation-mode.ts';
import { webhookEnvironment } from '#conductor/webhooks/webhook-settings.ts';
import { registryEnvironment } from '#shared/oci/registry-settings.ts';

const seconds = (fallback: number) => z.coerce.number().positive().default(fallback);
const flag = (fallback: boolean) =>
  z
    .enum(['true', 'false'], { error: 'must be true or false' })
    .default(fallback ? 'true' : 'false')
    .transform((text) => text === 'true');

/** Every setting of the conductor: environment variable, meaning, default. `docs/reference/settings.md` is made from it. */
export const Environment = z.object({
  BATON_HOST: z.string().default('127.0.0.1').describe('address to listen on'),
  BATON_PORT: z.coerce.number().int().min(0).max(65_535).default(6385).describe('port to listen on'),
  BATON_PUBLIC_URL: z
    .url()
    .optional()
    .describe('URL under which nodes reach this conductor, and of links in answers; default from host and port'),
  BATON_DATA_DIR: z
    .string()
    .default('/var/lib/baton')
    .describe(
      'directory of the private PostgreSQL server and the key of its secrets; with `DATABASE_URL`, of what the database has answered',
    ),
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must be a postgres:// URL')
    .refine(
      namesPrimary,
      'must say which server takes writes: of several hosts, postgres://…@one:5432,two:5432/baton?target_session_attrs=read-write; or name an address that always leads to it (a proxy, a virtual address)',
    )
    .optional()
    .describe('PostgreSQL to use in place of a private server; of several hosts the one that takes writes'),
  BATON_POSTGRESQL_USER: z
    .string()
    .min(1)
    .optional()
    .describe(
      'user of the private server when root starts the conductor; default `baton` or `postgres`, else `baton` is created',
    ),
  BATON_POSTGRESQL_BIN_DIR: z
    .string()
    .min(1)
    .optional()
    .describe("directory of the private server's `initdb` and `postgres`; default Debian's newest, else npm's"),
  BATON_SECRET_KEY_FILE: z
    .string()
    .optional()
    .describe(
      'keys that encrypt secrets in the database (32 bytes as base64, one per line; the first encrypts, all decrypt); required with `DATABASE_URL`, else made at the first start as `secret.key` in `BATON_DATA_DIR`',
    ),
  BATON_RAMDISK_DIR: z
    .string()
    .default('build/ramdisk')
    .describe('directory with vmlinuz, initrd.img and, for virtual media, boot-medium.bin and .json'),
  BATON_IMAGES_DIR: z.string().default('build/os-image').describe('directory served under /images/'),
  ...registryEnvironment,
  BATON_NETWORKS_FILE: z.string().optional().describe('switches and networks (YAML), see docs/networks.md'),
  BATON_CONDUCTOR_NAME: z
    .string()
    .min(1)
    .default(hostname())
    .describe('name of this conductor, unique on one database'),
  ...conductorEnvironment,
  BATON_LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info').describe('log level'),
  BATON_KERNEL_PARAMS: z.string().default('').describe("added to the ramdisk's kernel command line"),
  BATON_NODE_RAMDISKS: flag(false).describe(
    "boot driver_info.deploy_kernel and deploy_ramdisk of nodes that have them, over iPXE, in place of Baton's ramdisk",
  ),
  ...dhcpEnvironment,
  BATON_DISCOVERY: flag(false).describe('boot machines of unknown MAC address into the ramdisk, and enrol them'),
  BATON_DISCOVERY_DRIVER: z.enum(['ipmi', 'redfish']).default('ipmi').describe('driver of discovered nodes'),
  BATON_DISCOVERY_LIMIT: z.coerce
    .number()
    .int()
    .min(1)
    .default(1000)
    .describe('nodes in `enroll` above which no more are discovered'),
  BATON_DISCOVERY_FORGET_DAYS: z.coerce
    .number()
    .int()
    .min(0)
    .max(36_500)
    .default(0)
    .describe('days without a boot after which an untouched discovered node is deleted; 0 = never'),
  BATON_INSPECTION_RULES_FILE: z
    .string()
    .optional()
    .describe("rules (YAML, as Ironic's `built_in_rules`) that change nodes after inspection and discovery; mode 0600"),
  BATON_DEFAULT_NETWORK_INTERFACE: z
    .enum(['noop', 'flat', 'switchport', 'neutron'])
    .optional()
    .describe('network_interface of new nodes; default switchport with a networks file, else noop'),
  BATON_AUTOMATED_CLEAN: flag(true).describe(
    'clean nodes on provide and after undeploy, unless the node says otherwise',
  ),
  BATON_FAST_TRACK: flag(false).describe(
    'keep the ramdisk running after inspection and cleaning, unless driver_info.fast_track says otherwise',
  ),
  BATON_FAST_TRACK_TIMEOUT: seconds(300).describe(
    'seconds since its last heartbeat after which a kept ramdisk is rebooted',
  ),
  BATON_RUN_IMAGE_PROGRAMS: flag(false).describe(
    "run a partition image's own GRUB tools, in a sandbox in the ramdisk: needed for images with entries in /boot/loader",
  ),
  BATON_IMAGE_NEIGHBOURS: flag(true).describe(
    'have machines that deploy the same image in chunks, for the same project, send each other what they have; of no use where ports of the provisioning network are isolated from each other',
  ),
  BATON_REQUIRE_BOOT_TOKEN: flag(false).describe(
    "refuse lookups without a boot token from Baton's iPXE script or CD: not with an ironic-python-agent's own ramdisk; `false`: only of nodes whose boot was given one",
  ),
  BATON_ATTESTATION: z
    .enum(attestationModes)
    .default('off')
    .describe(
      "what is asked of machines' TPMs as they boot the ramdisk: nothing (`off`); to prove themselves, for the record (`record`); or else they get nothing and the flow fails (`require`: no machine without TPM 2.0, no iPXE); driver_info.attestation is a node's own",
    ),
  BATON_TPM_CA_DIR: z
    .string()
    .optional()
    .describe(
      "directory of the CAs of TPMs' vendors, roots and intermediates, PEM or DER: with it an unknown TPM becomes a node's own under `require` only if one of them has certified it",
    ),
  BATON_REQUIRE_AGENT_TLS: flag(true).describe('refuse agents that do not serve HTTPS'),
  BATON_HEARTBEAT_TIMEOUT: seconds(300).describe('seconds; agents send heartbeats every 0.3 to 0.6 of it'),
  BATON_CALLBACK_TIMEOUT: seconds(1800).describe(
    'seconds a step waits for the agent to call in, or after its last heartbeat',
  ),
  BATON_CLEAN_STEP_PRIORITIES: z
    .string()
    .regex(/^([a-z_]+\.\w+:\d+(,|$))*$/, 'must be like deploy.erase_devices:0,deploy.erase_devices_metadata:99')
    .default('')
    .describe(
      'overrides priorities in automated cleaning, 0 leaves a step out: `deploy.erase_devices:0,deploy.erase_devices_metadata:99`',
    ),
  BATON_STEP_TIMEOUT: z.coerce
    .number()
    .min(0)
    .default(0)
    .describe('seconds an in-band step may take; 0 = as long as its agent answers or sends heartbeats'),
  BATON_RETRY_TIMEOUT: seconds(300).describe(
    'seconds for which a step is retried after a passing fault, such as a silent BMC',
  ),
  BATON_POWER_TIMEOUT: seconds(120).describe('seconds for a power action of a flow, or for reading the power state'),
  BATON_KEXEC_TIMEOUT: z.coerce
    .number()
    .int()
    .min(1)
    .max(3600)
    .default(60)
    .describe('seconds for a boot by kexec; then the machine is rebooted'),
  BATON_POWER_SYNC_INTERVAL: seconds(60).describe("seconds between reads of each node's power state"),
  BATON_HARDWARE_INTERVAL: z.coerce
    .number()
    .min(0)
    .max(86_400)
    .default(0)
    .describe("seconds between reads of nodes' sensors (metrics) and event logs (history) from their BMCs; 0 = never"),
  BATON_SWITCH_LOOK_INTERVAL: seconds(600).describe('seconds between reads of the switch ports that Baton has set'),
  BATON_LEASE_SECONDS: seconds(60).describe(
    'seconds after which work is taken over from a conductor that hangs; from one that has died, at once',
  ),
  ...allocationEnvironment,
  BATON_RECONCILE_INTERVAL: seconds(5).describe('seconds between searches for work that is due'),
  BATON_SITE_BEAT_INTERVAL: seconds(0.5).describe("seconds, at most, between reads of a site action's nodes"),
  BATON_MAX_ACTIVE_NODES: z.coerce.number().int().positive().default(100).describe('nodes worked on at the same time'),
  BATON_CONSOLE: z
    .enum(consoleAccess)
    .default('false')
    .describe(
      'allow administrators consoles (`baton console`): `false`, `true`, or `loopback`: only while the conductor listens on a loopback address',
    ),
  ...authEnvironment,
  BATON_METRICS: z
    .enum(['reader', 'anybody', 'off'])
    .default('reader')
    .describe('who may read `/metrics`: callers with the role `reader`, `anybody`, or nobody (`off`)'),
  ...clusterEnvironment,
  ...webhookEnvironment,
  ...traceEnvironment,
});

/** Setting, meaning and default, in the order of the table; for `baton settings` and the docs. */
export function describeSettings(): { name: string; meaning: string; default: string }[] {
  return Object.entries(Environment.shape).map(([name, schema]) => {
    const fallback = schema.safeParse(undefined);
    const value = fallback.success ? fallback.data : undefined;
    const isHostName = name === 'BATON_CONDUCTOR_NAME';
    return {
      name,
      meaning: schema.description ?? '',
      default: isHostName ? 'the host name' : value === undefined || value === '' ? '' : String(value),
    };
  });
}
