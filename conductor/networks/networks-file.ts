import { LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';
import type { NetworkPurpose } from '#conductor/model/network-purposes.ts';
import { type PortVlans, portVlans, vlansIn } from '#conductor/model/port-vlans.ts';
import type { BondMode } from '#conductor/model/switch-bond.ts';
import { hasEmptyRange } from '#conductor/networks/allowed-ports.ts';
import type { BondRules } from '#conductor/networks/bonds.ts';
import { findCrossFaults, type KnownDriver } from '#conductor/networks/networks-file-faults.ts';
import { NeutronInFile, type NeutronSettings, neutronSettings } from '#conductor/networks/neutron/neutron-settings.ts';
import type { NumberRange } from '#conductor/networks/switch-driver.ts';
import { type PortRules, PortRulesInFile } from '#conductor/networks/vifs/port-rules.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { didYouMean } from '#shared/words.ts';

export interface SwitchEntry extends BondRules {
  /** The id as written; compared without regard to case. */
  readonly switchId: string;
  /** Other names that the switch gives itself by LLDP: further chassis ids, its name, a management address. */
  readonly lldpIds?: readonly string[] | undefined;
  /** A name in the switch driver table. */
  readonly driver: string;
  readonly endpoint: string;
  /** For drivers that log in: a stored user and password by name, or files of mode 0600, read at each login. */
  readonly credential?: string | undefined;
  readonly username?: string | undefined;
  readonly passwordFile?: string | undefined;
  readonly keyFile?: string | undefined;
  readonly enablePasswordFile?: string | undefined;
  /** `SHA256:…` */
  readonly hostKey?: string | undefined;
  /** SHA-256 in hexadecimal; or authorities, PEM. */
  readonly certificate?: string | undefined;
  readonly caFile?: string | undefined;
  readonly createVlans?: boolean | undefined;
  readonly removeVlans?: boolean | undefined;
  /** The bonds that Baton makes of port groups there. */
  readonly bondNumbers?: NumberRange | undefined;
  /** Modes that its driver makes bonds of. */
  readonly bondModes?: readonly BondMode[] | undefined;
  /** Modes of bonds that it shares with its pair. */
  readonly pairedBondModes?: readonly BondMode[] | undefined;
  /** The switch with which it shares bonds (MLAG). */
  readonly pair?: string | undefined;
  /** Whether ports that somebody else has changed are set again. */
  readonly repair?: boolean | undefined;
}

export interface Network {
  readonly name: string;
  /** Never isolated. */
  readonly vlans: PortVlans;
  /** Physical network as ports have it (`physical_network`); default: any port may carry it. */
  readonly physicalNetwork?: string | undefined;
  /** Projects whose callers may attach it, beside those without a project; default: nobody's. */
  readonly projects?: readonly string[] | undefined;
}

/** The operator's networks file; `noNetworks` when there is none. */
export interface Networks {
  readonly switches: readonly SwitchEntry[];
  readonly networks: readonly Network[];
  /** Absent without a file. */
  readonly defaults: Readonly<Record<NetworkPurpose, string>> | undefined;
  readonly neutron?: NeutronSettings | undefined;
  /** Rules by which traits of an instance choose ports for its networks. */
  readonly portRules?: PortRules | undefined;
  /** The consequence for a deploy whose ramdisk hears another switch port than recorded; default: a warning. */
  readonly movedCables?: MovedCables | undefined;
}

const movedCables = ['off', 'warn', 'refuse'] as const;
type MovedCables = (typeof movedCables)[number];

export const noNetworks: Networks = { switches: [], networks: [], defaults: undefined };

const name = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, 'must be letters, digits, dots, dashes or underscores');

const words = z.string('must be a string; put it in quotes').min(1, 'must not be empty');
const vlan = z.int().min(1).max(4094);
const noVlan = 'must be a VLAN (1 to 4094) or a range such as "300-310"';

const NetworkEntry = z
  .strictObject({
    vlan: vlan.optional(),
    tagged: z
      .array(z.union([vlan, z.string().regex(/^\d{1,4}-\d{1,4}$/, noVlan)], noVlan))
      .min(1)
      .transform((list) => list.flatMap((each) => vlansIn(String(each))))
      .optional(),
    physical_network: words.optional(),
    projects: z.array(words).optional(),
  })
  .superRefine(({ vlan: untagged, tagged = [] }, context) => {
    const fault = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message });
    if (untagged === undefined && tagged.length === 0) fault('vlan', 'give the network a vlan, tagged VLANs, or both');
    if (untagged !== undefined && tagged.includes(untagged))
      fault('tagged', `${untagged} is the network's untagged vlan`);
    // where a trunk has no untagged VLAN, switches take this one
    if (untagged === undefined && tagged.includes(1))
      fault('tagged', 'VLAN 1 is untagged at most switches; give a vlan');
    if (tagged.some((each) => each > 4094)) fault('tagged', 'VLANs are 1 to 4094');
    if (new Set(tagged).size < tagged.length) fault('tagged', 'has a VLAN twice');
  });

const ports = z
  .array(words.refine((pattern) => !hasEmptyRange(pattern), 'has a range that ends before it begins'))
  .min(1)
  .optional();
const file = z.string().startsWith('/', 'must be an absolute path').optional();

const noRange = 'must be a range of numbers such as "101-148"';

const SwitchInFile = z.strictObject({
  switch_id: words,
  lldp_ids: z.array(words).min(1).optional(),
  driver: z.string(),
  endpoint: z.string().min(1, 'must not be empty'),
  credential: words.optional(),
  username: z.string().min(1, 'must not be empty').optional(),
  password_file: file,
  key_file: file,
  enable_password_file: file,
  host_key: z
    .string()
    .regex(/^SHA256:[A-Za-z0-9+/]{43}$/, 'must be SHA256: and 43 characters, as ssh-keygen -l prints it')
    .optional(),
  certificate: z
    .string()
    .regex(
      /^([0-9a-f]{2}:?){31}[0-9a-f]{2}$/i,
      'must be a SHA-256 in hexadecimal, as openssl x509 -fingerprint -sha256 prints it',
    )
    .optional(),
  ca_file: file,
  create_vlans: z.boolean().optional(),
  remove_vlans: z.boolean().optional(),
  ports,
  uplinks: ports,
  bonds: z.record(words, z.array(words).min(1)).optional(),
  bond_numbers: z
    .string(noRange)
    .regex(/^\d{1,5}-\d{1,5}$/, noRange)
    .transform((range) => {
      const [from = 0, to = 0] = range.split('-').map(Number);
      return { from, to };
    })
    .refine(({ from, to }) => from >= 1 && from <= to, noRange)
    .optional(),
  pair: words.optional(),
  repair: z.boolean().optional(),
});

const NetworksFile = z.strictObject({
  switches: z.array(SwitchInFile).default([]),
  networks: z.record(name, NetworkEntry),
  defaults: z.strictObject({ provisioning: z.string(), cleaning: z.string(), tenant: z.string() }),
  neutron: NeutronInFile.optional(),
  traits: PortRulesInFile.optional(),
  moved_cables: z.enum(movedCables, `must be one of ${movedCables.join(', ')}`).optional(),
});
/** Where Neutron has the networks, none need be here. */
const NetworksOfNeutron = NetworksFile.extend({
  networks: NetworksFile.shape.networks.default({}),
  defaults: NetworksFile.shape.defaults.optional(),
});

const knownKeys = [NetworksFile, SwitchInFile, NetworkEntry].flatMap(({ shape }) => Object.keys(shape));

/**
 * Parses the networks file (YAML; `docs/networks.md` describes it).
 * @param fileName only for the error's text
 * @param knownDrivers the switch driver table
 * @throws AppError `invalid_argument` listing every fault with its path, such as `networks.tenant.vlan`; those of YAML
 * alone, since what stands beside them can't be shown.
 */
export function parseNetworksFile(text: string, fileName: string, knownDrivers: readonly KnownDriver[]): Networks {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  // YAML faults include repeated keys, hence networks with the same name
  const yamlFaults = document.errors.map((fault) => {
    const at = lines.linePos(fault.pos[0]);
    return `line ${at.line}, column ${at.col}: ${fault.message.split('\n')[0]}`;
  });
  if (yamlFaults.length > 0) throw badFile(fileName, yamlFaults);
  const parsed = (document.has('neutron') ? NetworksOfNeutron : NetworksFile).safeParse(document.toJS());
  const faults = [
    ...(parsed.error?.issues ?? []).map(describeIssue),
    ...findCrossFaults(document.toJS(), knownDrivers),
  ];
  if (!parsed.success || faults.length > 0) throw badFile(fileName, faults);
  const bondsOf = (driver: string) => knownDrivers.find(({ name }) => name === driver)?.bonds;
  return {
    switches: parsed.data.switches.map((entry) => ({
      switchId: entry.switch_id,
      lldpIds: entry.lldp_ids,
      driver: entry.driver,
      endpoint: entry.endpoint,
      credential: entry.credential,
      username: entry.username,
      passwordFile: entry.password_file,
      keyFile: entry.key_file,
      enablePasswordFile: entry.enable_password_file,
      hostKey: entry.host_key,
      certificate: entry.certificate,
      caFile: entry.ca_file,
      createVlans: entry.create_vlans,
      removeVlans: entry.remove_vlans,
      ports: entry.ports,
      uplinks: entry.uplinks,
      bonds: entry.bonds,
      bondNumbers: entry.bond_numbers,
      bondModes: entry.bond_numbers && bondsOf(entry.driver)?.modes,
      pairedBondModes: entry.bond_numbers && bondsOf(entry.driver)?.pairs,
      pair: entry.pair,
      repair: entry.repair,
    })),
    networks: Object.entries(parsed.data.networks).map(([name, entry]) => ({
      name,
      vlans: portVlans(entry.vlan, entry.tagged),
      physicalNetwork: entry.physical_network,
      projects: entry.projects,
    })),
    defaults: parsed.data.defaults,
    portRules: parsed.data.traits,
    neutron: parsed.data.neutron && neutronSettings(parsed.data.neutron),
    movedCables: parsed.data.moved_cables,
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

function describeIssue(issue: z.core.$ZodIssue): string {
  const path = issue.path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : `${text}${text === '' ? '' : '.'}${String(part)}`),
    '',
  );
  if (issue.code === 'unrecognized_keys') {
    const unknown = issue.keys.map((key) => `${key}${didYouMean(key, knownKeys)}`).join(', ');
    return `${path || 'file'}: there is no ${unknown}`;
  }
  // a bad record key hides what is wrong with it one level down
  const message = issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? issue.message) : issue.message;
  return `${path || 'file'}: ${message}`;
}

function badFile(fileName: string, faults: readonly string[]): AppError {
  return new AppError('invalid_argument', `networks file ${fileName} is wrong: ${faults.join('; ')}`, {
    details: { faults },
  });
}
