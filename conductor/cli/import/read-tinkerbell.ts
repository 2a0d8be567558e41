import { readBmcAddress } from '#conductor/cli/import/bmc-address.ts';
import { type Fleet, type FleetNode, given, listIn, objectIn, onlyOf, textIn } from '#conductor/cli/import/fleet.ts';
import { type Manifests, namesOf, namespaceOf } from '#conductor/cli/import/read-manifests.ts';
import type { Json } from '#conductor/cli/shell/api-client.ts';
import { usageError } from '#conductor/cli/shell/command.ts';

/**
 * Reads Hardware, the Machines of its BMCs and their Secrets. No object of Tinkerbell's says for sure whether a machine
 * runs a system of its own: `--adopt` says it. Pure but for the files that have been read.
 * @throws AppError `invalid_argument` where there is no Hardware
 */
export function readTinkerbell({ objects, login }: Manifests): Fleet {
  const hardware = objects.filter(({ kind }) => kind === 'Hardware');
  if (hardware.length === 0) {
    throw usageError('there is no Hardware in it (kubectl get hardware,machines.bmc.tinkerbell.org,secret -A -o yaml)');
  }
  const machines = new Map(objects.filter(({ kind }) => kind === 'Machine').map((each) => [keyOf(each), each]));
  const names = namesOf(hardware);
  const count = (kind: string): number => objects.filter((each) => each['kind'] === kind).length;
  return {
    source: 'Tinkerbell',
    nodes: hardware.map((each, index) => {
      const reference = textIn(each, 'spec', 'bmcRef', 'name');
      const machine = machines.get(`${namespaceOf(each)}/${reference ?? ''}`);
      return readHardware(each, names[index] ?? '', { machine, reference, login });
    }),
    left: ['Template', 'Workflow', 'WorkflowRuleSet'].flatMap((kind) =>
      count(kind) === 0 ? [] : [`${kind}: ${count(kind)} (a deploy is an image with steps)`],
    ),
  };
}

function keyOf(object: Json): string {
  return `${namespaceOf(object)}/${textIn(object, 'metadata', 'name') ?? ''}`;
}

interface Bmc {
  readonly machine: Json | undefined;
  readonly reference: string | undefined;
  readonly login: Manifests['login'];
}

function readHardware(hardware: Json, name: string, { machine, reference, login }: Bmc): FleetNode {
  const spec = objectIn(hardware, 'spec');
  const connection = objectIn(machine, 'spec', 'connection');
  const secret = objectIn(connection, 'authSecretRef');
  const secretName = textIn(secret, 'name');
  const account = login(secretName, textIn(secret, 'namespace') ?? namespaceOf(hardware));
  const bmc = machine ? readConnection(connection, account) : undefined;
  const missing = reference === undefined ? 'it has no bmcRef' : `its Machine ${reference} is missing`;
  const refused = bmc === undefined ? missing : typeof bmc === 'string' ? bmc : undefined;
  const state = textIn(spec, 'metadata', 'instance', 'state') ?? textIn(spec, 'metadata', 'state') ?? '';
  const disk = onlyOf(listIn(spec, 'disks').map((each) => textIn(each, 'device')));
  const dhcp = listIn(spec, 'interfaces').map((each) => objectIn(each, 'dhcp'));
  return {
    name,
    driver: bmc === undefined || typeof bmc === 'string' ? 'none' : bmc.driver,
    fields: given({
      ...(typeof bmc === 'object' ? bmc : {}),
      name,
      properties: given({
        cpu_arch: onlyOf(dhcp.flatMap((each) => textIn(each, 'arch') ?? [])),
        capabilities: dhcp.some((each) => each['uefi'] === true) ? 'boot_mode:uefi' : undefined,
        root_device: disk === undefined ? undefined : { name: `s== ${disk}` },
      }),
      extra: given({
        hostname: onlyOf(dhcp.flatMap((each) => textIn(each, 'hostname') ?? [])),
        labels:
          Object.keys(objectIn(hardware, 'metadata', 'labels')).length === 0
            ? undefined
            : objectIn(hardware, 'metadata', 'labels'),
      }),
    }),
    traits: [],
    ports: dhcp.flatMap((each) => {
      const address = textIn(each, 'mac')?.toLowerCase();
      return address === undefined ? [] : [{ address, portgroup: undefined, fields: { address } }];
    }),
    portgroups: [],
    stateThere: state,
    goal: 'manageable',
    left: [
      ...(machine && account.password === undefined
        ? [`the BMC's login (Secret ${secretName ?? '-'} is missing)`]
        : []),
      ...(state === '' ? [] : [`the state ${state} (--adopt ${name}, if its system runs)`]),
      ...(dhcp.some((each) => Object.keys(objectIn(each, 'ip')).length > 0)
        ? ['addresses (your DHCP server, or network_data)']
        : []),
      ...(spec['userData'] === undefined ? [] : ['userData (give it with the next deploy, --config-drive)']),
    ],
    ...(refused === undefined ? {} : { refused }),
  };
}

/** Reads a Machine's connection: Redfish where its options name it, else IPMI, which rufio tries as well. */
function readConnection(connection: Json, account: ReturnType<Manifests['login']>): ReturnType<typeof readBmcAddress> {
  const options = objectIn(connection, 'providerOptions');
  const host = textIn(connection, 'host') ?? '';
  const named = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  const isRedfish = Object.keys(objectIn(options, 'redfish')).length > 0;
  const port =
    textIn(options, isRedfish ? 'redfish' : 'ipmitool', 'port') ?? (isRedfish ? undefined : textIn(connection, 'port'));
  const place = `${named}${port === undefined || port === '0' ? '' : `:${port}`}`;
  const system = textIn(options, 'redfish', 'systemName');
  return readBmcAddress({
    address: `${isRedfish ? 'redfish' : 'ipmi'}://${place}${system === undefined ? '' : `/redfish/v1/Systems/${system}`}`,
    username: account.username,
    password: account.password,
    isUnverified: connection['insecureTLS'] === true,
  });
}
