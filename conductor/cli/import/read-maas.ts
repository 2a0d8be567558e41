import { isIPv6 } from 'node:net';
import { parse } from 'yaml';
import { readBmcAddress } from '#conductor/cli/import/bmc-address.ts';
import { type Fleet, type FleetNode, givenFields, listIn, objectIn, textIn } from '#conductor/cli/import/fleet.ts';
import type { Json } from '#conductor/cli/shell/api-client.ts';
import { usageError } from '#conductor/cli/shell/usage-error.ts';
import { parseMacAddress } from '#shared/mac-address.ts';

/**
 * Reads machines as MAAS prints them, with their power parameters. Pure.
 * @param machines `maas PROFILE machines read`
 * @param power `maas PROFILE machines power-parameters`: by `system_id`; `undefined` = not given
 * @throws AppError `invalid_argument` for other documents
 */
export function readMaas(machines: string, power: string | undefined): Fleet {
  const listed = parseJson('FILE', machines);
  if (!Array.isArray(listed) || listed.some((each) => textIn(each, 'system_id') === undefined)) {
    throw usageError('FILE: it must be the list that `maas PROFILE machines read` prints');
  }
  const parameters = power === undefined ? undefined : objectIn(parseJson('--power', power));
  const names = namesOf(listed as unknown[]);
  return {
    source: 'MAAS',
    nodes: (listed as unknown[]).map((machine, index) => {
      const id = textIn(machine, 'system_id') ?? '';
      return readMachine(objectIn(machine), names[index] ?? id, parameters && objectIn(parameters, id));
    }),
    left: [
      'subnets, fabrics, VLANs, DHCP and DNS: the networks file and your DHCP server',
      'images and curtin configurations: an image and a config drive with each deploy',
    ],
  };
}

/** Names machines by `hostname`, and by `fqdn` where two have one: MAAS takes a name once in each domain. */
function namesOf(machines: readonly unknown[]): string[] {
  const plain = machines.map((machine) => textIn(machine, 'hostname') ?? textIn(machine, 'system_id') ?? '');
  return machines.map((machine, index) => {
    const name = plain[index] ?? '';
    return plain.indexOf(name) === plain.lastIndexOf(name) ? name : (textIn(machine, 'fqdn') ?? name);
  });
}

function parseJson(option: string, text: string): unknown {
  try {
    return parse(text) as unknown;
  } catch (cause) {
    throw usageError(`${option}: it must be JSON`, { cause });
  }
}

/** Statuses of a machine by its name, as the API has it (src/maasserver/enum.py, NODE_STATUS_CHOICES); others are amid a change. */
const goals: Readonly<Record<string, FleetNode['goal']>> = {
  Deployed: 'active',
  ...Object.fromEntries(['Ready', 'Allocated', 'Reserved'].map((status) => [status, 'manageable'])),
  // a person has to look at these machines, and nobody asks their BMCs before
  ...Object.fromEntries(
    [
      'New',
      'Broken',
      'Missing',
      'Retired',
      'Failed commissioning',
      'Failed testing',
      'Failed deployment',
      'Failed disk erasing',
      'Failed to enter rescue mode',
      'Failed to exit rescue mode',
      'Releasing failed',
    ].map((status) => [status, 'enroll']),
  ),
};

function readMachine(machine: Json, name: string, power: Json | undefined): FleetNode {
  const status = textIn(machine, 'status_name') ?? '';
  const kind = textIn(machine, 'power_type') ?? '';
  const isNamed = textIn(power, 'power_address') !== undefined;
  const read = readPower(kind, power ?? {});
  const bmc = typeof read === 'string' || isNamed ? read : { ...read, driver_info: {} };
  const goal = goals[status];
  const { ports, portgroups, strange } = readCards(machine, name);
  const refusals = [
    ...(typeof bmc === 'string' ? [bmc] : []),
    ...strange,
    ...(goal === undefined ? [`it is ${status || 'without a status_name'} there: let that end, or abort it`] : []),
  ];
  const image = textIn(machine, 'osystem');
  const missing = describeMissing(kind, power);
  return {
    name,
    driver: typeof bmc === 'string' ? 'none' : bmc.driver,
    fields: givenFields({
      ...(typeof bmc === 'string' ? {} : bmc),
      name,
      description: textIn(machine, 'description'),
      ...(machine['locked'] === true ? { protected: true, protected_reason: 'locked in MAAS' } : {}),
      resource_class: textIn(machine, 'pool', 'name'),
      properties: givenFields({
        cpu_arch: archOf(textIn(machine, 'architecture')),
        rack: textIn(machine, 'zone', 'name'),
        cpus: machine['cpu_count'],
        memory_mb: machine['memory'],
        capabilities: textIn(machine, 'bios_boot_method') === 'uefi' ? 'boot_mode:uefi' : undefined,
      }),
      extra: givenFields({
        maas_owner: textIn(machine, 'owner'),
        maas_system_id: textIn(machine, 'system_id'),
        tags: listIn(machine, 'tag_names'),
        operating_system: image && `${image} ${textIn(machine, 'distro_series') ?? ''}`.trim(),
      }),
    }),
    traits: [],
    ports,
    portgroups,
    stateThere: status,
    goal: goal ?? 'enroll',
    left: [
      ...(typeof bmc === 'object' && missing !== undefined ? [`the BMC's login (${missing})`] : []),
      ...(image !== undefined && goal !== 'active' && /failed/i.test(status)
        ? [`its ${image}, which may run (--adopt ${name}, if it does)`]
        : []),
    ],
    ...(refusals.length === 0 ? {} : { refused: refusals.join(', ') }),
  };
}

/** Describes which part of a BMC's login is not there, by its field; `undefined` = it is whole. IPMI does without a user. */
function describeMissing(kind: string, power: Json | undefined): string | undefined {
  if (power === undefined) return 'give --power';
  if (Object.keys(power).length === 0) return 'give --power that has its system_id';
  const needed = kind === 'redfish' ? ['power_address', 'power_user', 'power_pass'] : ['power_address'];
  const missing = needed.filter((field) => textIn(power, field) === undefined);
  return missing.length === 0
    ? undefined
    : `${missing.join(', ')} of --power ${missing.length === 1 ? 'is' : 'are'} empty`;
}

function readPower(kind: string, power: Json): ReturnType<typeof readBmcAddress> {
  const account = {
    username: textIn(power, 'power_user'),
    password: textIn(power, 'power_pass'),
    field: 'power_address',
  };
  const address = textIn(power, 'power_address') ?? '';
  if (kind === 'ipmi') {
    if (textIn(power, 'k_g') !== undefined) return 'k_g: Baton opens no session with a Kg key: clear it at the BMC';
    const place = `ipmi://${bracketed(address) || 'unknown'}`;
    return readBmcAddress({ ...account, address: place, ipmi: readIpmiOptions(power) });
  }
  if (kind !== 'redfish')
    return `power_type: Baton has no driver for ${kind || 'a machine without one'} (it has ipmi, redfish)`;
  const system = textIn(power, 'node_id');
  const path = system === undefined ? '' : `/redfish/v1/Systems/${system}`;
  const host = bracketed(address.replace(/^https?:\/\//, '').replace(/\/.*$/, ''));
  const scheme = address.startsWith('http://') ? 'redfish+http' : 'redfish';
  return readBmcAddress({ ...account, address: `${scheme}://${host || 'unknown'}${path}`, isUnverified: true });
}

/** Reads how MAAS opens a session (src/provisioningserver/drivers/power/ipmi.py): as OPERATOR where it says nothing. */
function readIpmiOptions(power: Json): Json {
  const level = (textIn(power, 'privilege_level') ?? 'OPERATOR').toUpperCase();
  return givenFields({
    ipmi_priv_level: level === 'ADMIN' ? 'ADMINISTRATOR' : level,
    ipmi_cipher_suite: textIn(power, 'cipher_suite_id'),
  });
}

/** Puts an IPv6 address into brackets, as URLs have it: MAAS takes it without. */
function bracketed(host: string): string {
  return isIPv6(host) ? `[${host}]` : host;
}

/** `amd64/generic` in Ironic's words. */
function archOf(text: string | undefined): string | undefined {
  const [name] = (text ?? '').split('/');
  return ({ amd64: 'x86_64', arm64: 'aarch64' } as Readonly<Record<string, string>>)[name ?? ''] ?? (name || undefined);
}

type Cards = Pick<FleetNode, 'ports' | 'portgroups'> & {
  /** Addresses that are none, by their fields. */
  readonly strange: readonly string[];
};

/** Makes a port of each physical card, and a port group of each bond. */
function readCards(machine: Json, name: string): Cards {
  const all = listIn(machine, 'interface_set').map((each) => objectIn(each));
  const boot = parseMacAddress(textIn(machine, 'boot_interface', 'mac_address') ?? '');
  const strange: string[] = [];
  const bonds = all
    .filter((each) => textIn(each, 'type') === 'bond')
    .map((bond) => ({
      // names of port groups are taken once for all nodes
      name: `${name}-${textIn(bond, 'name') ?? 'bond'}`,
      members: new Set(listIn(bond, 'parents').map(String)),
      fields: givenFields({
        address: parseMacAddress(textIn(bond, 'mac_address') ?? ''),
        mode: textIn(bond, 'params', 'bond_mode'),
      }),
    }));
  const ports = all.flatMap((each, index) => {
    const text = textIn(each, 'mac_address');
    if (text === undefined || textIn(each, 'type') !== 'physical') return [];
    const address = parseMacAddress(text);
    if (address === undefined) {
      strange.push(`interface_set[${index}].mac_address: "${text}" is no MAC address`);
      return [];
    }
    const card = textIn(each, 'name') ?? '';
    return [
      {
        address,
        portgroup: bonds.find(({ members }) => members.has(card))?.name,
        fields: { address, pxe_enabled: boot === undefined || address === boot },
      },
    ];
  });
  const portgroups = bonds.map((bond) => ({ name: bond.name, fields: { ...bond.fields, name: bond.name } }));
  return { ports, portgroups, strange };
}
