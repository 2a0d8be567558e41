import { isIPv6 } from 'node:net';
import { readBmcAddress } from '#conductor/cli/import/bmc-address.ts';
import {
  type Fleet,
  type FleetNode,
  givenFields,
  listIn,
  objectIn,
  onlyOf,
  textIn,
} from '#conductor/cli/import/fleet.ts';
import { type FoundLogin, keyOf, type Manifests, namesOf, namespaceOf } from '#conductor/cli/import/read-manifests.ts';
import type { Json } from '#conductor/cli/shell/api-client.ts';
import { usageError } from '#conductor/cli/shell/usage-error.ts';
import { parseMacAddress } from '#shared/mac-address.ts';

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
  // Cluster API has Machines, too
  const isOfBmc = (object: Json): boolean => (textIn(object, 'apiVersion') ?? ownGroup).startsWith(ownGroup);
  const machines = new Map(
    objects.filter((each) => each['kind'] === 'Machine' && isOfBmc(each)).map((each) => [keyOf(each), each]),
  );
  const names = namesOf(hardware);
  const count = (kind: string): number => objects.filter((each) => each['kind'] === kind).length;
  return {
    source: 'Tinkerbell',
    nodes: hardware.map((each, index) => {
      const reference = textIn(each, 'spec', 'bmcRef', 'name');
      const machine = machines.get(`${namespaceOf(each)}/${reference ?? ''}`);
      return readHardware(each, names[index] ?? '', { machine, login });
    }),
    left: ['Template', 'Workflow', 'WorkflowRuleSet'].flatMap((kind) =>
      count(kind) === 0 ? [] : [`${kind}: ${count(kind)} (a deploy is an image with steps)`],
    ),
  };
}

/** Group of BMCs' Machines, and of those that name none, as examples are written. */
const ownGroup = 'bmc.tinkerbell.org/';

interface Bmc {
  readonly machine: Json | undefined;
  readonly login: Manifests['login'];
}

/** Hardware of either version of Tinkerbell's API, in the words of neither. */
interface Described {
  /** Connection of its BMC, as both versions have it; or why there is none. */
  readonly connection: Json | string;
  /** Place of that connection, for errors. */
  readonly place: string;
  /** Secret with its login, as `name` and `namespace`, and the field that names it. */
  readonly secret: { readonly reference: Json; readonly field: string };
  /** MAC addresses with the fields that have them. */
  readonly cards: readonly { readonly address: string; readonly field: string }[];
  readonly hostnames: readonly string[];
  readonly arch: readonly string[];
  readonly isUefi: boolean;
  readonly disks: readonly (string | undefined)[];
  readonly hasAddresses: boolean;
  readonly hasUserData: boolean;
  readonly state: string;
}

/** Reads `tinkerbell.org/v1alpha1`, in which the BMC is an object of its own. */
function describeFirst(spec: Json, machine: Json | undefined): Described {
  const reference = textIn(spec, 'bmcRef', 'name');
  const dhcp = listIn(spec, 'interfaces').map((each) => objectIn(each, 'dhcp'));
  const connection = objectIn(machine, 'spec', 'connection');
  const missing = reference === undefined ? 'spec.bmcRef.name is missing' : `its Machine ${reference} is missing`;
  return {
    connection: machine ? connection : missing,
    place: `Machine ${reference}: spec.connection`,
    secret: { reference: objectIn(connection, 'authSecretRef'), field: 'spec.connection.authSecretRef' },
    cards: dhcp.flatMap((each, index) => {
      const address = textIn(each, 'mac');
      return address === undefined ? [] : [{ address, field: `spec.interfaces[${index}].dhcp.mac` }];
    }),
    hostnames: dhcp.flatMap((each) => textIn(each, 'hostname') ?? []),
    arch: dhcp.flatMap((each) => textIn(each, 'arch') ?? []),
    isUefi: dhcp.some((each) => each['uefi'] === true),
    disks: listIn(spec, 'disks').map((each) => textIn(each, 'device')),
    hasAddresses: dhcp.some((each) => Object.keys(objectIn(each, 'ip')).length > 0),
    hasUserData: spec['userData'] !== undefined,
    state: textIn(spec, 'metadata', 'instance', 'state') ?? textIn(spec, 'metadata', 'state') ?? '',
  };
}

/** Reads `tinkerbell.org/v1alpha2`, in which the BMC stands in the Hardware, and cards by their addresses. */
function describeSecond(spec: Json): Described {
  const cards = Object.entries(objectIn(spec, 'networkInterfaces'));
  const connection = objectIn(spec, 'bmc', 'connection');
  const dhcp = cards.map(([, each]) => objectIn(each, 'dhcp', 'ipv4'));
  return {
    connection: Object.keys(connection).length === 0 ? 'spec.bmc.connection is missing' : connection,
    place: 'spec.bmc.connection',
    secret: { reference: objectIn(connection, 'credentialsRef'), field: 'spec.bmc.connection.credentialsRef' },
    cards: cards.map(([address]) => ({ address, field: 'spec.networkInterfaces' })),
    hostnames: dhcp.flatMap((each) => textIn(each, 'hostname') ?? []),
    arch: [textIn(spec, 'arch')].filter((each) => each !== undefined),
    isUefi: (textIn(spec, 'bmc', 'bootMode') ?? 'UEFI') === 'UEFI',
    disks: listIn(spec, 'storageDevices').map((each) => textIn(each, 'name')),
    hasAddresses: cards.some(([, each]) => Object.keys(objectIn(each, 'ipam')).length > 0),
    hasUserData: objectIn(spec, 'instance')['userdata'] !== undefined,
    state: '',
  };
}

function readHardware(hardware: Json, name: string, { machine, login }: Bmc): FleetNode {
  const spec = objectIn(hardware, 'spec');
  const isSecond = textIn(hardware, 'apiVersion')?.endsWith('/v1alpha2') === true;
  const read = isSecond ? describeSecond(spec) : describeFirst(spec, machine);
  const { reference, field } = read.secret;
  const account = login(textIn(reference, 'name'), textIn(reference, 'namespace') ?? namespaceOf(hardware));
  const bmc = typeof read.connection === 'string' ? read.connection : readConnection(read, read.connection, account);
  const strange = read.cards.filter(({ address }) => parseMacAddress(address) === undefined);
  const refusals = [
    ...(typeof bmc === 'string' ? [bmc] : []),
    ...strange.map((card) => `${card.field}: "${card.address}" is no MAC address`),
  ];
  const disk = onlyOf(read.disks);
  const labels = objectIn(hardware, 'metadata', 'labels');
  return {
    name,
    driver: typeof bmc === 'string' ? 'none' : bmc.driver,
    fields: givenFields({
      ...(typeof bmc === 'object' ? bmc : {}),
      name,
      properties: givenFields({
        cpu_arch: onlyOf(read.arch),
        capabilities: read.isUefi ? 'boot_mode:uefi' : undefined,
        root_device: disk === undefined ? undefined : { name: `s== ${disk}` },
      }),
      extra: givenFields({
        hostname: onlyOf(read.hostnames),
        labels: Object.keys(labels).length === 0 ? undefined : labels,
      }),
    }),
    traits: [],
    ports: read.cards.flatMap((card) => {
      const address = parseMacAddress(card.address);
      return address === undefined ? [] : [{ address, portgroup: undefined, fields: { address } }];
    }),
    portgroups: [],
    stateThere: read.state,
    goal: 'manageable',
    left: [
      ...(typeof bmc === 'object' && account.missing !== undefined
        ? [`the BMC's login (${field}: ${account.missing})`]
        : []),
      ...(read.state === '' ? [] : [`the state ${read.state} (--adopt ${name}, if its system runs)`]),
      ...(read.hasAddresses ? ['addresses (your DHCP server, or network_data)'] : []),
      ...(read.hasUserData ? ['userData (give it with the next deploy, --config-drive)'] : []),
    ],
    ...(refusals.length === 0 ? {} : { refused: refusals.join(', ') }),
  };
}

/** Reads the connection of a BMC: Redfish where its options name it, else IPMI, which Tinkerbell tries as well. */
function readConnection(
  { place }: Described,
  connection: Json,
  account: FoundLogin,
): ReturnType<typeof readBmcAddress> {
  const options = objectIn(connection, 'providerOptions');
  const host = textIn(connection, 'host') ?? '';
  const named = isIPv6(host) ? `[${host}]` : host;
  const hasOptions = (provider: string): boolean => Object.keys(objectIn(options, provider)).length > 0;
  const isRedfish = hasOptions('redfish');
  const foreign = ['intelAMT', 'rpc', 'homeassistant'].find(hasOptions);
  if (foreign !== undefined && !isRedfish && !hasOptions('ipmitool')) {
    return `${place}.providerOptions.${foreign}: Baton has no driver for it (Redfish and IPMI it has)`;
  }
  const own = textIn(options, isRedfish ? 'redfish' : 'ipmitool', 'port');
  const port = own ?? (isRedfish ? undefined : textIn(connection, 'port'));
  const system = textIn(options, 'redfish', 'systemName');
  const suite = textIn(options, 'ipmitool', 'cipherSuite');
  const at = `${named}${port === undefined || port === '0' ? '' : `:${port}`}`;
  if (host === '') return `${place}.host is missing`;
  return readBmcAddress({
    address: `${isRedfish ? 'redfish' : 'ipmi'}://${at}${system === undefined ? '' : `/redfish/v1/Systems/${system}`}`,
    field: `${place}.host`,
    username: account.username,
    password: account.password,
    isUnverified: connection['insecureTLS'] === true,
    ...(suite === undefined ? {} : { ipmi: { ipmi_cipher_suite: suite } }),
  });
}
