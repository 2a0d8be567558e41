import { isIPv6 } from 'node:net';
import { parse } from 'yaml';
import { readBmcAddress } from '#conductor/cli/import/bmc-address.ts';
import { type Fleet, type FleetNode, given, listIn, objectIn, textIn } from '#conductor/cli/import/fleet.ts';
import type { Json } from '#conductor/cli/shell/api-client.ts';
import { usageError } from '#conductor/cli/shell/command.ts';

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
  const parameters = objectIn(power === undefined ? {} : parseJson('--power', power));
  const names = namesOf(listed as unknown[]);
  return {
    source: 'MAAS',
    nodes: (listed as unknown[]).map((machine, index) => {
      const id = textIn(machine, 'system_id') ?? '';
      return readMachine(objectIn(machine), names[index] ?? id, objectIn(parameters, id));
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

/** Statuses of a machine by its name, as the API has it (maasserver/enum.py, NODE_STATUS). */
const goals: Readonly<Record<string, FleetNode['goal']>> = {
  Deployed: 'active',
  Ready: 'manageable',
  Allocated: 'manageable',
  New: 'enroll',
  Broken: 'enroll',
  Retired: 'enroll',
  Commissioning: 'enroll',
  'Failed commissioning': 'enroll',
  'Failed testing': 'enroll',
  'Failed deployment': 'enroll',
};

function readMachine(machine: Json, name: string, power: Json): FleetNode {
  const status = textIn(machine, 'status_name') ?? '';
  const kind = textIn(machine, 'power_type') ?? '';
  const read = readPower(kind, power);
  const isNamed = textIn(power, 'power_address') !== undefined;
  const bmc = typeof read === 'string' || isNamed ? read : { ...read, driver_info: {} };
  const goal = goals[status];
  const refused =
    typeof bmc === 'string' ? bmc : goal === undefined ? `it is ${status} there: let that end, or abort it` : undefined;
  const image = textIn(machine, 'osystem');
  return {
    name,
    driver: typeof bmc === 'string' ? 'none' : bmc.driver,
    fields: given({
      ...(typeof bmc === 'string' ? {} : bmc),
      name,
      description: textIn(machine, 'description'),
      ...(machine['locked'] === true ? { protected: true, protected_reason: 'locked in MAAS' } : {}),
      resource_class: textIn(machine, 'pool', 'name'),
      properties: given({
        cpu_arch: archOf(textIn(machine, 'architecture')),
        rack: textIn(machine, 'zone', 'name'),
        cpus: machine['cpu_count'],
        memory_mb: machine['memory'],
        capabilities: textIn(machine, 'bios_boot_method') === 'uefi' ? 'boot_mode:uefi' : undefined,
      }),
      extra: given({
        maas_owner: textIn(machine, 'owner'),
        maas_system_id: textIn(machine, 'system_id'),
        tags: listIn(machine, 'tag_names'),
        operating_system: image && `${image} ${textIn(machine, 'distro_series') ?? ''}`.trim(),
      }),
    }),
    traits: [],
    ports: readPorts(machine),
    portgroups: [],
    stateThere: status,
    goal: goal ?? 'enroll',
    left: Object.keys(power).length === 0 ? ["the BMC's login (give --power)"] : [],
    ...(refused === undefined ? {} : { refused }),
  };
}

function readPower(kind: string, power: Json): ReturnType<typeof readBmcAddress> {
  const account = { username: textIn(power, 'power_user'), password: textIn(power, 'power_pass') };
  const address = textIn(power, 'power_address') ?? '';
  if (kind === 'ipmi') return readBmcAddress({ ...account, address: `ipmi://${bracketed(address) || 'unknown'}` });
  if (kind !== 'redfish') return `Baton has no driver for the power type ${kind || 'of a machine without one'}`;
  const system = textIn(power, 'node_id');
  const path = system === undefined ? '' : `/redfish/v1/Systems/${system}`;
  const host = bracketed(address.replace(/^https?:\/\//, '').replace(/\/.*$/, ''));
  const scheme = address.startsWith('http://') ? 'redfish+http' : 'redfish';
  return readBmcAddress({ ...account, address: `${scheme}://${host || 'unknown'}${path}`, isUnverified: true });
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

function readPorts(machine: Json): FleetNode['ports'] {
  const boot = textIn(machine, 'boot_interface', 'mac_address')?.toLowerCase();
  return listIn(machine, 'interface_set').flatMap((each) => {
    const address = textIn(each, 'mac_address')?.toLowerCase();
    if (address === undefined || textIn(each, 'type') !== 'physical') return [];
    return [
      { address, portgroup: undefined, fields: { address, pxe_enabled: boot === undefined || address === boot } },
    ];
  });
}
