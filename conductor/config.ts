import { hostname } from 'node:os';
import { z } from 'zod';
import { allocationEnvironment } from '#conductor/allocations/allocation-settings.ts';
import { urlHost } from '#conductor/auth/address-ranges.ts';
import {
  type AuthConfig,
  authEnvironment,
  authProblems,
  type BootConfig,
  isEveryAddress,
  type OutboundConfig,
  readAuthConfig,
  readBootConfig,
  readOutboundConfig,
  readTlsConfig,
  type TlsConfig,
} from '#conductor/auth/auth-settings.ts';
import {
  type ConductorSettings,
  conductorEnvironment,
  conductorProblems,
  readConductorSettings,
} from '#conductor/conductors/conductor-settings.ts';
import { type ConsoleAccess, consoleAccess } from '#conductor/console/console-access.ts';
import { describeSettingProblems } from '#conductor/describe-setting-problems.ts';
import { keyFileProblems } from '#conductor/secrets/key-file.ts';
import { etcdEnvironment } from '#conductor/teardown/etcd/etcd-settings.ts';
import { kubernetesEnvironment } from '#conductor/teardown/kubernetes/kubernetes-settings.ts';
import {
  readWebhookConfig,
  type WebhookConfig,
  webhookEnvironment,
  webhookProblems,
} from '#conductor/webhooks/webhook-settings.ts';
import { AppError } from '#shared/errors/app-error.ts';

const seconds = (fallback: number) => z.coerce.number().positive().default(fallback);
const flag = (fallback: boolean) =>
  z
    .enum(['true', 'false'], { error: 'must be true or false' })
    .default(fallback ? 'true' : 'false')
    .transform((text) => text === 'true');

/** Every setting of the conductor: environment variable, meaning, default. README.md's table is made from it. */
const Environment = z.object({
  BATON_HOST: z.string().default('127.0.0.1').describe('address to listen on'),
  BATON_PORT: z.coerce.number().int().min(0).max(65_535).default(6385).describe('port to listen on'),
  BATON_PUBLIC_URL: z
    .url()
    .optional()
    .describe(
      'URL under which nodes reach this conductor, and with which the addresses in answers begin (links, `next`, ' +
        '`Location`); default from host and port, and for answers as the client wrote it',
    ),
  BATON_DATA_DIR: z.string().default('/var/lib/baton').describe('directory of the embedded database'),
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must be a postgres:// URL')
    .optional()
    .describe('PostgreSQL to use in place of the embedded database'),
  BATON_SECRET_KEY_FILE: z
    .string()
    .optional()
    .describe(
      'file of the keys that seal passwords in the database (32 bytes as base64, a line each: the first seals, all ' +
        'open); needed with `DATABASE_URL`, else default `secret.key` in `BATON_DATA_DIR`, made at the first start',
    ),
  BATON_RAMDISK_DIR: z.string().default('build/ramdisk').describe('directory with vmlinuz and initrd.img'),
  BATON_IMAGES_DIR: z.string().default('build/os-image').describe('directory served under /images/'),
  BATON_NETWORKS_FILE: z.string().optional().describe('switches and networks (YAML), see conductor/networks/README.md'),
  BATON_CONDUCTOR_NAME: z
    .string()
    .min(1)
    .default(hostname())
    .describe('name of this conductor, unique on one database'),
  ...conductorEnvironment,
  BATON_LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info').describe('log level'),
  BATON_KERNEL_PARAMS: z.string().default('').describe("added to the ramdisk's kernel command line"),
  BATON_DISCOVERY: flag(false).describe('boot machines of unknown MAC address into the ramdisk'),
  BATON_DEFAULT_NETWORK_INTERFACE: z
    .enum(['noop', 'flat', 'switchport'])
    .optional()
    .describe('network_interface of new nodes; default switchport with a networks file, else noop'),
  BATON_AUTOMATED_CLEAN: flag(true).describe(
    'clean nodes on provide and after undeploy, unless the node says otherwise',
  ),
  BATON_FAST_TRACK: flag(false).describe(
    'keep the ramdisk running after inspection and cleaning, unless driver_info.fast_track says otherwise',
  ),
  BATON_FAST_TRACK_TIMEOUT: seconds(300).describe(
    'seconds since its last heartbeat after which a kept ramdisk is booted anew',
  ),
  BATON_REQUIRE_AGENT_TLS: flag(true).describe('refuse agents that do not serve HTTPS'),
  BATON_HEARTBEAT_TIMEOUT: seconds(300).describe('seconds; agents beat every 0.3 to 0.6 of it'),
  BATON_CALLBACK_TIMEOUT: seconds(1800).describe(
    'seconds a step may wait for the agent to call in; one that does not answer is lost so long after its last heartbeat',
  ),
  BATON_CLEAN_STEP_PRIORITIES: z
    .string()
    .regex(/^([a-z_]+\.\w+:\d+(,|$))*$/, 'must be like deploy.erase_devices:0,deploy.erase_devices_metadata:99')
    .default('')
    .describe(
      'priorities of steps in automated cleaning in place of those that agent and drivers offer, 0 leaves out: ' +
        '`deploy.erase_devices:0,deploy.erase_devices_metadata:99`',
    ),
  BATON_STEP_TIMEOUT: z.coerce
    .number()
    .min(0)
    .default(0)
    .describe(
      'seconds an in-band step may take at the most; 0 = as long as its agent answers, or was heard of within ' +
        '`BATON_CALLBACK_TIMEOUT`',
    ),
  BATON_RETRY_TIMEOUT: seconds(300).describe(
    'seconds for which a step is tried again after a passing fault, such as a BMC that does not answer',
  ),
  BATON_POWER_TIMEOUT: seconds(120).describe(
    'seconds a flow gives a power action, or anybody a read of the power state',
  ),
  BATON_POWER_SYNC_INTERVAL: seconds(60).describe("seconds between two reads of every node's power state"),
  BATON_LEASE_SECONDS: seconds(60).describe('seconds after which the work of a dead conductor is taken over'),
  ...allocationEnvironment,
  BATON_RECONCILE_INTERVAL: seconds(5).describe('seconds between two looks for work that a lost nudge left behind'),
  BATON_SITE_BEAT_INTERVAL: seconds(0.5).describe(
    'seconds between two looks at the nodes that a site action has at work, at the most',
  ),
  BATON_MAX_ACTIVE_NODES: z.coerce.number().int().positive().default(100).describe('nodes worked on at the same time'),
  BATON_CONSOLE: z
    .enum(consoleAccess)
    .default('false')
    .describe(
      'give out root shells in the ramdisk (`baton console`) to whoever reaches the API: `false`, `true`, or `loopback`: ' +
        'only while the conductor listens on a loopback address',
    ),
  ...authEnvironment,
  BATON_METRICS: z
    .enum(['reader', 'anybody', 'off'])
    .default('reader')
    .describe('who may read `/metrics`: callers with the role reader, anybody who reaches the API, or nobody (`off`)'),
  ...etcdEnvironment,
  ...webhookEnvironment,
  ...kubernetesEnvironment,
  BATON_CRASH_AT_CHECKPOINT: z
    .string()
    .regex(/^(?:SIGUSR2\+)?[1-9]\d{0,8}$/, { error: 'must be a number such as 7, or SIGUSR2+7' })
    .optional()
    .describe(
      'tests only: kill this process at that checkpoint (after a step event is committed, or a step has acted), counted from its start, or with `SIGUSR2+7` from that signal on',
    ),
});

export interface ConductorConfig extends ConductorSettings {
  readonly host: string;
  readonly port: number;
  readonly publicUrl: string;
  /** What links, `next` and `Location` begin with: the public URL when it is set; `undefined` = as the client wrote. */
  readonly apiUrl: string | undefined;
  readonly dataDirectory: string;
  readonly databaseUrl: string | undefined;
  /** With PostgreSQL never `undefined`. */
  readonly secretKeyFile: string | undefined;
  readonly ramdiskDirectory: string;
  readonly imagesDirectory: string;
  readonly networksFile: string | undefined;
  readonly conductorName: string;
  readonly logLevel: string;
  readonly kernelParams: string;
  readonly discovery: boolean;
  readonly defaultNetworkInterface: string;
  readonly automatedClean: boolean;
  readonly fastTrack: boolean;
  readonly fastTrackTimeoutMs: number;
  readonly requireAgentTls: boolean;
  /** Seconds, as the wire has it. */
  readonly heartbeatTimeout: number;
  readonly callbackTimeoutMs: number;
  /** By `interface.step`. */
  readonly cleanStepPriorities: ReadonlyMap<string, number>;
  /** `Infinity` = no limit. */
  readonly stepTimeoutMs: number;
  readonly retryTimeoutMs: number;
  readonly powerTimeoutMs: number;
  readonly powerSyncIntervalMs: number;
  readonly leaseMs: number;
  readonly allocationErrorDays: number;
  readonly reconcileIntervalMs: number;
  readonly siteBeatMs: number;
  readonly maxActiveNodes: number;
  readonly console: ConsoleAccess;
  readonly auth: AuthConfig;
  /** `undefined` = plain HTTP. */
  readonly tls: TlsConfig | undefined;
  /** What booting machines are told, and the port of plain HTTP that serves them beside an API with TLS. */
  readonly boot: BootConfig;
  readonly outbound: OutboundConfig;
  /** Below which nodes may name authorities of BMCs. */
  readonly caDirectory: string;
  /** Below which documents may name what etcd clusters are reached with. */
  readonly etcdTlsDirectory: string;
  readonly metrics: 'reader' | 'anybody' | 'off';
  readonly webhooks: WebhookConfig;
  /** `undefined` = no cluster is known. */
  readonly kubeconfigFile: string | undefined;
  readonly crashAtCheckpoint: string | undefined;
}

/** What `baton` reads: operators have it in the shell from which they start a conductor, too. */
const clientSettings: ReadonlySet<string> = new Set([
  'BATON_URL',
  'BATON_TOKEN',
  'BATON_TOKEN_FILE',
  'BATON_USERNAME',
  'BATON_PASSWORD',
  'BATON_CACERT',
  'BATON_INSECURE',
]);

/**
 * The configuration from the environment.
 * @throws AppError `invalid_argument` with one message that lists all problems.
 */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): ConductorConfig {
  const given = Object.entries(environment).filter(([, value]) => value !== undefined && value !== '');
  const parsed = Environment.safeParse(Object.fromEntries(given));
  const unknown = given
    .map(([name]) => name)
    .filter((name) => name.startsWith('BATON_') && !clientSettings.has(name) && !(name in Environment.shape));
  const problems = [
    ...describeSettingProblems(parsed.error?.issues ?? [], Environment.shape, environment),
    ...unknown.map((name) => `${name}: no such setting`),
    ...(parsed.success
      ? [
          ...publicUrlProblems(parsed.data),
          ...conductorProblems(parsed.data),
          ...authProblems(parsed.data),
          ...webhookProblems(parsed.data),
        ]
      : []),
  ];
  problems.push(...(parsed.success ? keyFileProblems(parsed.data) : []));
  if (!parsed.success || problems.length > 0) {
    throw new AppError('invalid_argument', `the configuration has problems:\n  ${problems.join('\n  ')}`);
  }
  const env = parsed.data;
  const tls = readTlsConfig(env);
  const ownUrl = `${tls ? 'https' : 'http'}://${urlHost(env.BATON_HOST)}:${env.BATON_PORT}`;
  const publicUrl = (env.BATON_PUBLIC_URL ?? ownUrl).replace(/\/+$/, '');
  return Object.freeze({
    host: env.BATON_HOST,
    port: env.BATON_PORT,
    publicUrl,
    apiUrl: env.BATON_PUBLIC_URL === undefined ? undefined : publicUrl,
    dataDirectory: env.BATON_DATA_DIR,
    databaseUrl: env.DATABASE_URL,
    secretKeyFile: env.BATON_SECRET_KEY_FILE,
    ramdiskDirectory: env.BATON_RAMDISK_DIR,
    imagesDirectory: env.BATON_IMAGES_DIR,
    networksFile: env.BATON_NETWORKS_FILE,
    conductorName: env.BATON_CONDUCTOR_NAME,
    ...readConductorSettings(env),
    logLevel: env.BATON_LOG_LEVEL,
    kernelParams: env.BATON_KERNEL_PARAMS,
    discovery: env.BATON_DISCOVERY,
    defaultNetworkInterface: env.BATON_DEFAULT_NETWORK_INTERFACE ?? (env.BATON_NETWORKS_FILE ? 'switchport' : 'noop'),
    automatedClean: env.BATON_AUTOMATED_CLEAN,
    fastTrack: env.BATON_FAST_TRACK,
    fastTrackTimeoutMs: env.BATON_FAST_TRACK_TIMEOUT * 1000,
    requireAgentTls: env.BATON_REQUIRE_AGENT_TLS,
    heartbeatTimeout: env.BATON_HEARTBEAT_TIMEOUT,
    callbackTimeoutMs: env.BATON_CALLBACK_TIMEOUT * 1000,
    cleanStepPriorities: stepPriorities(env.BATON_CLEAN_STEP_PRIORITIES),
    stepTimeoutMs: env.BATON_STEP_TIMEOUT === 0 ? Infinity : env.BATON_STEP_TIMEOUT * 1000,
    retryTimeoutMs: env.BATON_RETRY_TIMEOUT * 1000,
    powerTimeoutMs: env.BATON_POWER_TIMEOUT * 1000,
    powerSyncIntervalMs: env.BATON_POWER_SYNC_INTERVAL * 1000,
    leaseMs: env.BATON_LEASE_SECONDS * 1000,
    allocationErrorDays: env.BATON_ALLOCATION_ERROR_DAYS,
    reconcileIntervalMs: env.BATON_RECONCILE_INTERVAL * 1000,
    siteBeatMs: env.BATON_SITE_BEAT_INTERVAL * 1000,
    maxActiveNodes: env.BATON_MAX_ACTIVE_NODES,
    console: env.BATON_CONSOLE,
    auth: readAuthConfig(env),
    tls,
    boot: readBootConfig(env, publicUrl),
    outbound: readOutboundConfig(env),
    caDirectory: env.BATON_CA_DIR,
    etcdTlsDirectory: env.BATON_ETCD_TLS_DIR,
    metrics: env.BATON_METRICS,
    webhooks: readWebhookConfig(env),
    kubeconfigFile: env.BATON_KUBECONFIG,
    crashAtCheckpoint: env.BATON_CRASH_AT_CHECKPOINT,
  });
}

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

function stepPriorities(text: string): Map<string, number> {
  const entries = text.split(',').filter((entry) => entry !== '');
  return new Map(
    entries.map((entry) => {
      const [step = '', priority] = entry.split(':');
      return [step, Number(priority)];
    }),
  );
}

/** Nodes are told the public URL: an address that means "all of mine" leads them nowhere. */
function publicUrlProblems(env: z.infer<typeof Environment>): string[] {
  if (!isEveryAddress(env.BATON_HOST) || env.BATON_PUBLIC_URL !== undefined) return [];
  return [
    `BATON_PUBLIC_URL: with BATON_HOST=${env.BATON_HOST} it must be given: the URL under which nodes reach this conductor`,
  ];
}
