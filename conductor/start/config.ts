import type { z } from 'zod';
import type { SettingInForce } from '#conductor/api/records.ts';
import {
  authProblems,
  isEveryAddress,
  readAuthConfig,
  readBootConfig,
  readOutboundConfig,
  readTlsConfig,
} from '#conductor/auth/auth-settings.ts';
import { dhcpProblems, readDhcpConfig } from '#conductor/boot/dhcp/dhcp-settings.ts';
import { conductorProblems, readConductorSettings } from '#conductor/kernel/conductor-settings.ts';
import { describeSettingProblems } from '#conductor/kernel/describe-setting-problems.ts';
import { keyFileProblems } from '#conductor/kernel/secrets/key-file.ts';
import { readTraceConfig, traceProblems } from '#conductor/kernel/traces/trace-settings.ts';
import { ownUrl } from '#conductor/model/own-url.ts';
import { describeSettings, Environment } from '#conductor/start/environment.ts';
import type { ConductorConfig } from '#conductor/start/open-context.ts';
import { readWebhookConfig, webhookProblems } from '#conductor/webhooks/webhook-settings.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { readRegistryConfig, registryProblems } from '#shared/oci/registry-settings.ts';
import { maskUrlLogins } from '#shared/url-logins.ts';
import { didYouMean } from '#shared/words.ts';
import packageJson from '../../package.json' with { type: 'json' };

/** Pattern of secrets in URLs' queries and kernel parameters; settings that are secrets themselves are files. */
const secret = /(\b\w*(?:password|passwd|secret|token)\w*=)[^&#\s]+/gi;

/** Each setting with what counts on this conductor, without logins, and whether somebody has set it. Pure. */
export function settingsInForce(environment: Readonly<Record<string, string | undefined>>): SettingInForce[] {
  return describeSettings().map(({ name, meaning, default: fallback }) => {
    const given = environment[name] ?? '';
    const isAllSecret = name.endsWith('_HEADERS');
    const masked = isAllSecret
      ? given.replaceAll(/=[^,]*/g, '=******')
      : maskUrlLogins(given).replaceAll(secret, '$1******');
    const value = given === '' ? fallback : masked;
    return { name, value, default: fallback, from: given === '' ? 'default' : 'environment', meaning };
  });
}

/** Settings that `baton` reads: operators have them in the shell from which they start a conductor, too. */
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
 * @param uses.noKeys for what opens nothing that is sealed, as a dump of the database
 * @throws AppError `invalid_argument` with one message that lists all problems.
 */
export function readConfig(
  environment: Readonly<Record<string, string | undefined>>,
  uses: { readonly noKeys?: boolean } = {},
): ConductorConfig {
  const given = Object.entries(environment).filter(([, value]) => value !== undefined && value !== '');
  const parsed = Environment.safeParse(Object.fromEntries(given));
  const unknown = given
    .map(([name]) => name)
    .filter((name) => name.startsWith('BATON_') && !clientSettings.has(name) && !(name in Environment.shape));
  const problems = [
    ...describeSettingProblems(parsed.error?.issues ?? [], Environment.shape, environment),
    ...unknown.map((name) => `${name}: no such setting${didYouMean(name, Object.keys(Environment.shape))}`),
    ...(parsed.success
      ? [
          ...publicUrlProblems(parsed.data),
          ...nodeRamdiskProblems(parsed.data),
          ...conductorProblems(parsed.data),
          ...authProblems(parsed.data),
          ...webhookProblems(parsed.data),
          ...traceProblems(parsed.data),
          ...registryProblems(parsed.data),
          ...dhcpProblems(parsed.data, readBootConfig(parsed.data, publicUrlOf(parsed.data)).url),
        ]
      : []),
  ];
  problems.push(...(parsed.success && !uses.noKeys ? keyFileProblems(parsed.data) : []));
  if (!parsed.success || problems.length > 0) {
    throw new AppError('invalid_argument', `the configuration has problems:\n  ${problems.join('\n  ')}`);
  }
  return Object.freeze({ ...toConfig(parsed.data), settings: settingsInForce(environment) });
}

function toConfig(env: z.infer<typeof Environment>): Omit<ConductorConfig, 'settings'> {
  const publicUrl = publicUrlOf(env);
  const boot = readBootConfig(env, publicUrl);
  return {
    host: env.BATON_HOST,
    port: env.BATON_PORT,
    publicUrl,
    apiUrl: env.BATON_PUBLIC_URL === undefined ? undefined : publicUrl,
    dataDirectory: env.BATON_DATA_DIR,
    databaseUrl: env.DATABASE_URL,
    postgresqlUser: env.BATON_POSTGRESQL_USER,
    postgresqlBinDirectory: env.BATON_POSTGRESQL_BIN_DIR,
    secretKeyFile: env.BATON_SECRET_KEY_FILE,
    ramdiskDirectory: env.BATON_RAMDISK_DIR,
    imagesDirectory: env.BATON_IMAGES_DIR,
    registries: readRegistryConfig(env),
    networksFile: env.BATON_NETWORKS_FILE,
    inspectionRulesFile: env.BATON_INSPECTION_RULES_FILE,
    conductorName: env.BATON_CONDUCTOR_NAME,
    ...readConductorSettings(env),
    logLevel: env.BATON_LOG_LEVEL,
    kernelParams: env.BATON_KERNEL_PARAMS,
    nodeRamdisks: env.BATON_NODE_RAMDISKS,
    discovery: discoveryOf(env),
    defaultNetworkInterface: env.BATON_DEFAULT_NETWORK_INTERFACE ?? (env.BATON_NETWORKS_FILE ? 'switchport' : 'noop'),
    automatedClean: env.BATON_AUTOMATED_CLEAN,
    fastTrack: env.BATON_FAST_TRACK,
    runImagePrograms: env.BATON_RUN_IMAGE_PROGRAMS,
    fastTrackTimeoutMs: env.BATON_FAST_TRACK_TIMEOUT * 1000,
    requireBootToken: env.BATON_REQUIRE_BOOT_TOKEN,
    attestation: env.BATON_ATTESTATION,
    tpmCaDirectory: env.BATON_TPM_CA_DIR,
    requireAgentTls: env.BATON_REQUIRE_AGENT_TLS,
    heartbeatTimeout: env.BATON_HEARTBEAT_TIMEOUT,
    callbackTimeoutMs: env.BATON_CALLBACK_TIMEOUT * 1000,
    cleanStepPriorities: stepPriorities(env.BATON_CLEAN_STEP_PRIORITIES),
    stepTimeoutMs: env.BATON_STEP_TIMEOUT === 0 ? Infinity : env.BATON_STEP_TIMEOUT * 1000,
    retryTimeoutMs: env.BATON_RETRY_TIMEOUT * 1000,
    powerTimeoutMs: env.BATON_POWER_TIMEOUT * 1000,
    kexecTimeoutMs: env.BATON_KEXEC_TIMEOUT * 1000,
    powerSyncIntervalMs: env.BATON_POWER_SYNC_INTERVAL * 1000,
    hardwareIntervalMs: env.BATON_HARDWARE_INTERVAL * 1000,
    switchLookIntervalMs: env.BATON_SWITCH_LOOK_INTERVAL * 1000,
    leaseMs: env.BATON_LEASE_SECONDS * 1000,
    allocationErrorDays: env.BATON_ALLOCATION_ERROR_DAYS,
    takeoverIntervalMs: env.BATON_TAKEOVER_INTERVAL * 1000,
    reconcileIntervalMs: env.BATON_RECONCILE_INTERVAL * 1000,
    siteBeatMs: env.BATON_SITE_BEAT_INTERVAL * 1000,
    maxActiveNodes: env.BATON_MAX_ACTIVE_NODES,
    console: env.BATON_CONSOLE,
    auth: readAuthConfig(env),
    tls: readTlsConfig(env),
    boot,
    ipxeDirectory: env.BATON_IPXE_DIR,
    dhcp: readDhcpConfig(env, boot.url),
    outbound: readOutboundConfig(env),
    imageNeighbours: env.BATON_IMAGE_NEIGHBOURS,
    caDirectory: env.BATON_CA_DIR,
    etcdTlsDirectory: env.BATON_ETCD_TLS_DIR,
    metrics: env.BATON_METRICS,
    webhooks: readWebhookConfig(env),
    traces: readTraceConfig(env, packageJson.version),
    kubeconfigFile: env.BATON_KUBECONFIG,
  };
}

function publicUrlOf(env: z.infer<typeof Environment>): string {
  const { BATON_PUBLIC_URL: publicUrl, BATON_HOST: host, BATON_PORT: port } = env;
  return ownUrl({ publicUrl, host, port, hasTls: readTlsConfig(env) !== undefined });
}

function discoveryOf(env: z.infer<typeof Environment>): ConductorConfig['discovery'] {
  if (!env.BATON_DISCOVERY) return undefined;
  return {
    driver: env.BATON_DISCOVERY_DRIVER,
    limit: env.BATON_DISCOVERY_LIMIT,
    forgetMs: env.BATON_DISCOVERY_FORGET_DAYS * 86_400_000,
  };
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

function nodeRamdiskProblems(env: z.infer<typeof Environment>): string[] {
  if (!env.BATON_NODE_RAMDISKS || !env.BATON_REQUIRE_BOOT_TOKEN) return [];
  return ["BATON_NODE_RAMDISKS: not with BATON_REQUIRE_BOOT_TOKEN=true: nodes' own ramdisks have no boot token"];
}

/** Nodes get the public URL: an address that means "all of mine" leads them nowhere. */
function publicUrlProblems(env: z.infer<typeof Environment>): string[] {
  if (!isEveryAddress(env.BATON_HOST) || env.BATON_PUBLIC_URL !== undefined) return [];
  return [
    `BATON_PUBLIC_URL: with BATON_HOST=${env.BATON_HOST} it must be given: the URL under which nodes reach this conductor`,
  ];
}
