import { LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';
import { type NetworkPurpose, networkPurposes } from '#conductor/model/network-purposes.ts';
import { AppError } from '#shared/errors/app-error.ts';

export interface SwitchEntry {
  /** As written; compared without regard to case. */
  readonly switchId: string;
  /** A name in the switch driver table. */
  readonly driver: string;
  readonly endpoint: string;
}

export interface Network {
  readonly name: string;
  /** 1 to 4094. */
  readonly vlan: number;
  /** Whose callers may attach it, beside those without a project; default: nobody's. */
  readonly projects?: readonly string[] | undefined;
}

/** The operator's networks file; `noNetworks` when there is none. */
export interface Networks {
  readonly switches: readonly SwitchEntry[];
  readonly networks: readonly Network[];
  /** Absent without a file. */
  readonly defaults: Readonly<Record<NetworkPurpose, string>> | undefined;
}

export const noNetworks: Networks = { switches: [], networks: [], defaults: undefined };

const name = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, 'must be letters, digits, dots, dashes or underscores');

const NetworkEntry = z.strictObject({
  vlan: z.int().min(1).max(4094),
  projects: z.array(z.string('must be a string; put it in quotes').min(1, 'must not be empty')).optional(),
});

const NetworksFile = z.strictObject({
  switches: z
    .array(
      z.strictObject({
        switch_id: z.string('must be a string; put it in quotes').min(1, 'must not be empty'),
        driver: z.string(),
        endpoint: z.string().min(1, 'must not be empty'),
      }),
    )
    .default([]),
  networks: z.record(name, NetworkEntry),
  defaults: z.strictObject({ provisioning: z.string(), cleaning: z.string(), tenant: z.string() }),
});

const legibleText = z.string().optional().catch(undefined);
/** What can be made out of a file that has faults, so that one round tells them all. */
const Legible = z
  .object({
    switches: z.array(z.object({ switch_id: legibleText, driver: legibleText }).catch({})).catch([]),
    /** `undefined` = there is no telling which there are. */
    networks: z.record(z.string(), z.unknown()).optional().catch(undefined),
    defaults: z.object({ provisioning: legibleText, cleaning: legibleText, tenant: legibleText }).catch({}),
  })
  .catch({ switches: [], networks: undefined, defaults: {} });
type Legible = z.infer<typeof Legible>;

/**
 * Parses the networks file (YAML; `docs/networks.md` describes it).
 * @param fileName only for the error's text
 * @param knownDrivers names in the switch driver table
 * @throws AppError `invalid_argument` listing every fault with its path, such as `networks.tenant.vlan`; those of YAML
 * alone, for what stands beside them can't be told.
 */
export function parseNetworksFile(text: string, fileName: string, knownDrivers: readonly string[]): Networks {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  // YAML faults include repeated keys, hence networks with the same name
  const yamlFaults = document.errors.map((fault) => {
    const at = lines.linePos(fault.pos[0]);
    return `line ${at.line}, column ${at.col}: ${fault.message.split('\n')[0]}`;
  });
  if (yamlFaults.length > 0) throw badFile(fileName, yamlFaults);
  const parsed = NetworksFile.safeParse(document.toJS());
  const faults = [
    ...(parsed.error?.issues ?? []).map(describeIssue),
    ...crossFaults(Legible.parse(document.toJS()), knownDrivers),
  ];
  if (!parsed.success || faults.length > 0) throw badFile(fileName, faults);
  return {
    switches: parsed.data.switches.map((entry) => ({
      switchId: entry.switch_id,
      driver: entry.driver,
      endpoint: entry.endpoint,
    })),
    networks: Object.entries(parsed.data.networks).map(([name, entry]) => ({ name, ...entry })),
    defaults: parsed.data.defaults,
  };
}

/** The switch with that `switch_id`, case disregarded. */
export function findSwitch(networks: Networks, switchId: string): SwitchEntry | undefined {
  return networks.switches.find((entry) => entry.switchId.toLowerCase() === switchId.toLowerCase());
}

/**
 * The network for a purpose: the one named, else the purpose's default.
 * @throws AppError `invalid_argument` naming the networks there are.
 */
export function resolveNetwork(networks: Networks, purpose: NetworkPurpose, named?: string): Network {
  const wanted = named ?? networks.defaults?.[purpose];
  if (wanted === undefined) {
    throw new AppError(
      'invalid_argument',
      `there is no ${purpose} network: the conductor has no networks file, which network interface switchport needs`,
    );
  }
  const network = networks.networks.find((each) => each.name === wanted);
  if (network === undefined) {
    const known = networks.networks.map((each) => each.name).join(', ') || 'none';
    throw new AppError('invalid_argument', `${purpose} network ${wanted} does not exist; networks are: ${known}`);
  }
  return network;
}

function crossFaults(file: Legible, knownDrivers: readonly string[]): string[] {
  const faults: string[] = [];
  const seen = new Map<string, number>();
  for (const [index, entry] of file.switches.entries()) {
    const path = `switches[${index}]`;
    if (entry.driver !== undefined && !knownDrivers.includes(entry.driver)) {
      faults.push(`${path}.driver: unknown driver ${entry.driver}; drivers are: ${knownDrivers.join(', ')}`);
    }
    if (entry.switch_id === undefined) continue;
    const id = entry.switch_id.toLowerCase();
    const earlier = seen.get(id);
    if (earlier !== undefined) faults.push(`${path}.switch_id: ${entry.switch_id} is already switches[${earlier}]`);
    else seen.set(id, index);
  }
  if (!file.networks) return faults;
  const names = Object.keys(file.networks);
  for (const purpose of networkPurposes) {
    const wanted = file.defaults[purpose];
    if (wanted !== undefined && !names.includes(wanted)) {
      faults.push(`defaults.${purpose}: network ${wanted} does not exist; networks are: ${names.join(', ') || 'none'}`);
    }
  }
  return faults;
}

function describeIssue(issue: z.core.$ZodIssue): string {
  const path = issue.path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : `${text}${text === '' ? '' : '.'}${String(part)}`),
    '',
  );
  // a bad record key hides what is wrong with it one level down
  const message = issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? issue.message) : issue.message;
  return `${path || 'file'}: ${message}`;
}

function badFile(fileName: string, faults: readonly string[]): AppError {
  return new AppError('invalid_argument', `networks file ${fileName} is wrong: ${faults.join('; ')}`, {
    details: { faults },
  });
}
