import { z } from 'zod';
import { AppError } from '#shared/errors/app-error.ts';
import { listIssues } from '#shared/errors/describe-issues.ts';
import { parseMacAddress } from '#shared/mac-address.ts';

const seconds = (fallback: number) => z.coerce.number('a number of seconds').nonnegative().default(fallback);
const count = (fallback: number) => z.coerce.number('a whole number').int().positive().default(fallback);
const port = z.coerce.number('a port number').int().min(0).max(65_535);
const text = z.string().min(1).optional();
const flag = z
  .stringbool({ truthy: ['1', 'true', 'yes', 'on'], falsy: ['0', 'false', 'no', 'off', ''] })
  .default(false);

const apiUrl = z.string().transform((value, context) => {
  const urls = value.split(',').filter(Boolean);
  const wrong = urls.filter((url) => !isHttpUrl(url));
  if (urls.length === 0 || wrong.length > 0) {
    context.addIssue(
      `http:// or https:// addresses with host and port, comma separated; got ${JSON.stringify(wrong[0] ?? value)}`,
    );
  }
  return urls.map((url) => url.replace(/\/+$/, '').replace(/\/v1$/, ''));
});

const macAddress = (parse: (value: string) => string | undefined) =>
  z.string().transform((value, context) => {
    const mac = parse(value);
    if (mac === undefined) context.addIssue(`a MAC address, aa:bb:cc:dd:ee:ff; got ${JSON.stringify(value)}`);
    return mac ?? value;
  });

/** Kernel parameter → its check and default (agent-protocol.md §2.6). What is not here is not read. */
const kernelParams = {
  // a machine that is only to be inspected needs none
  'ipa-api-url': apiUrl.optional(),
  'ipa-agent-token': z.string().min(32, 'at least 32 characters').optional(),
  'ipa-insecure': flag,
  'ipa-debug': flag,
  'ipa-global-request-id': text,
  BOOTIF: macAddress(parseBootif).optional(),
  'ipa-listen-host': z.string().min(1).default('::'),
  'ipa-listen-port': port.default(9999),
  'ipa-advertise-host': text,
  'ipa-advertise-port': port.optional(),
  'ipa-advertise-protocol': z.enum(['http', 'https']).optional(),
  'ipa-network-interface': text,
  'ipa-ip-lookup-attempts': count(6),
  'ipa-ip-lookup-timeout': seconds(10),
  'ipa-lookup-timeout': seconds(600),
  'ipa-lookup-interval': seconds(1),
  'ipa-http-request-timeout': seconds(30),
  'ipa-inspection-callback-url': z.string().refine(isHttpUrl, 'an http:// or https:// address').optional(),
  'ipa-inspection-collectors': z.string().default('default,logs'),
  'ipa-collect-lldp': flag,
  'ipa-lldp-timeout': seconds(30),
  'ipa-hardware-initialization-delay': seconds(0),
  'ipa-ironic-api-version': z
    .string()
    .regex(/^1\.\d+$/, 'a microversion, 1.68')
    .optional(),
  'ipa-tls-min-version': z.enum(['1.2', '1.3']).default('1.2'),
  'ipa-tls-cipher-suites': text,
  'ipa-tls-certificate-curve': z.enum(['p256', 'p384']).default('p384'),
};

/** Only from the environment: for tests and simulators, and from the ramdisk. */
const environmentOnly = {
  /** MAC addresses to look up instead of the machine's own, comma separated. */
  BATON_AGENT_ADDRESSES: z
    .string()
    .transform((value) => value.split(','))
    .pipe(z.array(macAddress(parseMacAddress)))
    .optional(),
  /** Where the token and certificate survive a restart of the process; in memory, so that a reboot forgets them. */
  BATON_AGENT_STATE_DIR: z.string().min(1).default('/run/baton-agent'),
  /** YAML files of script steps with their programs (`docs/custom-steps.md`). */
  BATON_AGENT_SCRIPT_DIR: z.string().min(1).default('/usr/lib/baton/steps.d'),
  /** The machine is ours, and so is its clock: the ramdisk's init says so, nobody else. */
  BATON_AGENT_SET_CLOCK: flag,
};

const Parameters = z.object({ ...kernelParams, ...environmentOnly });

export interface AgentConfig {
  /** None: the machine is only to be inspected. */
  readonly apiUrls: readonly string[];
  /** The token embedded in virtual media. */
  readonly agentToken: string | undefined;
  /** Server certificates are not checked. */
  readonly insecure: boolean;
  readonly debug: boolean;
  readonly globalRequestId: string | undefined;
  /** MAC address of the NIC that the machine booted from. */
  readonly bootMac: string | undefined;
  readonly addresses: readonly string[] | undefined;
  readonly listen: { readonly host: string; readonly port: number };
  readonly advertise: {
    readonly host: string | undefined;
    /** `undefined`: the port listened on. */
    readonly port: number | undefined;
    readonly protocol: 'http' | 'https' | undefined;
    readonly interface: string | undefined;
    readonly attempts: number;
    readonly retryMs: number;
  };
  readonly lookup: { readonly timeoutMs: number; readonly intervalMs: number };
  /** `undefined`: nobody has asked for a report. */
  readonly inspection: { readonly callbackUrl: string; readonly collectors: readonly string[] } | undefined;
  /** `undefined`: switches are not listened to. */
  readonly lldp: { readonly timeoutMs: number } | undefined;
  readonly requestTimeoutMs: number;
  readonly hardwareDelayMs: number;
  readonly apiVersion: string | undefined;
  readonly tls: {
    readonly minVersion: 'TLSv1.2' | 'TLSv1.3';
    readonly ciphers: string | undefined;
    readonly curve: 'p256' | 'p384';
  };
  readonly stateDir: string;
  readonly scriptDir: string;
  /** The machine's clock is set by the API's. */
  readonly setClock: boolean;
}

/**
 * The agent's configuration from the kernel command line; `BATON_AGENT_API_URL` and its like override `ipa-api-url`
 * and its like, `BATON_AGENT_BOOTIF` overrides `BOOTIF`.
 * @throws AppError `invalid_argument` listing every problem at once.
 */
export function readAgentConfig(
  commandLine: string,
  environment: Readonly<Record<string, string | undefined>>,
): AgentConfig {
  const params = parseKernelParams(commandLine);
  const given = Object.fromEntries([
    // an empty value is none: iPXE writes `BOOTIF=` where it doesn't know the NIC
    ...Object.keys(kernelParams).map((key) => [key, environment[environmentName(key)] || params.get(key) || undefined]),
    ...Object.keys(environmentOnly).map((key) => [key, environment[key]]),
  ]) as Record<string, unknown>;
  const parsed = Parameters.safeParse(given);
  const lacksUrl = given['ipa-api-url'] === undefined && given['ipa-inspection-callback-url'] === undefined;
  if (!parsed.success || lacksUrl) {
    const problems = [
      ...(lacksUrl ? ['ipa-api-url: must be given'] : []),
      ...(parsed.error ? listIssues(parsed.error) : []),
    ];
    throw new AppError('invalid_argument', `the kernel command line can't be used: ${problems.join('; ')}`);
  }
  return toConfig(parsed.data);
}

function toConfig(values: z.infer<typeof Parameters>): AgentConfig {
  const callbackUrl = values['ipa-inspection-callback-url'];
  return {
    apiUrls: values['ipa-api-url'] ?? [],
    agentToken: values['ipa-agent-token'],
    insecure: values['ipa-insecure'],
    debug: values['ipa-debug'],
    globalRequestId: values['ipa-global-request-id'],
    bootMac: values.BOOTIF,
    addresses: values.BATON_AGENT_ADDRESSES,
    listen: { host: values['ipa-listen-host'], port: values['ipa-listen-port'] },
    advertise: {
      host: values['ipa-advertise-host'],
      port: values['ipa-advertise-port'],
      protocol: values['ipa-advertise-protocol'],
      interface: values['ipa-network-interface'],
      attempts: values['ipa-ip-lookup-attempts'],
      retryMs: values['ipa-ip-lookup-timeout'] * 1000,
    },
    lookup: { timeoutMs: values['ipa-lookup-timeout'] * 1000, intervalMs: values['ipa-lookup-interval'] * 1000 },
    inspection:
      callbackUrl === undefined
        ? undefined
        : { callbackUrl, collectors: values['ipa-inspection-collectors'].split(',').filter(Boolean) },
    lldp: values['ipa-collect-lldp'] ? { timeoutMs: values['ipa-lldp-timeout'] * 1000 } : undefined,
    requestTimeoutMs: values['ipa-http-request-timeout'] * 1000,
    hardwareDelayMs: values['ipa-hardware-initialization-delay'] * 1000,
    apiVersion: values['ipa-ironic-api-version'],
    tls: {
      minVersion: values['ipa-tls-min-version'] === '1.3' ? 'TLSv1.3' : 'TLSv1.2',
      ciphers: values['ipa-tls-cipher-suites'],
      curve: values['ipa-tls-certificate-curve'],
    },
    stateDir: values.BATON_AGENT_STATE_DIR,
    scriptDir: values.BATON_AGENT_SCRIPT_DIR,
    setClock: values.BATON_AGENT_SET_CLOCK,
  };
}

/** `ipa-api-url` → `BATON_AGENT_API_URL` */
function environmentName(param: string): string {
  return `BATON_AGENT_${param.replace(/^ipa-/, '').replaceAll('-', '_').toUpperCase()}`;
}

function isHttpUrl(url: string): boolean {
  const parsed = URL.parse(url);
  return parsed !== null && /^https?:$/.test(parsed.protocol) && parsed.hostname !== '';
}

/**
 * The `key=value` items of a kernel command line (agent-protocol.md §2.6). Items without `=` are not seen; of a key
 * given twice the last one counts.
 */
export function parseKernelParams(commandLine: string): ReadonlyMap<string, string> {
  return new Map(
    commandLine
      .split(/\s+/)
      .map((item) => [item, item.indexOf('=')] as const)
      .filter(([, at]) => at > 0)
      .map(([item, at]) => [item.slice(0, at), item.slice(at + 1)] as const),
  );
}

/**
 * The boot NIC's MAC address from `BOOTIF`: pxelinux writes `01-aa-bb-cc-dd-ee-ff` (ARP hardware type first), iPXE
 * `aa:bb:cc:dd:ee:ff`. `undefined` when it is neither.
 */
export function parseBootif(text: string): string | undefined {
  return parseMacAddress(/^[0-9a-f]{2}-(?:[0-9a-f]{2}-){5}[0-9a-f]{2}$/i.test(text) ? text.slice(3) : text);
}
