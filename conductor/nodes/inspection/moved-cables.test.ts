import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { LldpNeighbour } from '#conductor/networks/compare-places.ts';
import { createNetworkConnector } from '#conductor/networks/connect-node.ts';
import { noNetworks, type SwitchEntry } from '#conductor/networks/networks-file.ts';
import type { SwitchDriver } from '#conductor/networks/switch-driver.ts';
import { findSwitchDriver, switchDrivers, switchOperatingSystems } from '#conductor/networks/switches/index.ts';
import {
  compareCablesIn,
  describeUncompared,
  linkConnection,
  neighboursOf,
} from '#conductor/nodes/inspection/moved-cables.ts';
import { readRecordings } from '#test/recorded/read-recordings.ts';
import { recordedTlvs, tlvsOf } from '#test/recorded/recorded-lldp.ts';

const address = '52:54:00:00:00:01';

const Reading = z.strictObject({
  /** The entry of the networks file. */
  listed: z
    .strictObject({
      driver: z.string(),
      switch_id: z.string(),
      lldp_ids: z.array(z.string()).optional(),
      endpoint: z.string(),
    })
    .optional(),
  /** The card that heard the switch; without it the first that has heard one. */
  card: z.string().optional(),
  /** Null = unknown. */
  switch: z.string().nullable(),
  port: z.string().nullable(),
});
const recordings = await readRecordings('lldp', Reading);

/** A connector whose switch answers the recording's other texts. */
function connectorOf({ listed }: z.infer<typeof Reading>, outputs: Readonly<Record<string, string>>) {
  const entry: SwitchEntry[] = listed
    ? [
        {
          switchId: listed.switch_id,
          lldpIds: listed.lldp_ids,
          driver: listed.driver,
          endpoint: listed.endpoint,
          username: 'baton',
        },
      ]
    : [];
  const driverOf = (name: string): SwitchDriver => {
    const driver = findSwitchDriver(name);
    const names = switchOperatingSystems.find((each) => each.name === name)?.lldpNames;
    return {
      ...driver,
      connect: (access) => ({
        ...driver.connect({ ...access, endpoint: access.endpoint }),
        readPortNames: async () => {
          const texts = names?.commands.map((command) => outputs[command]);
          if (!names || !texts?.every((text) => text !== undefined)) throw new Error('the switch is away');
          return names.parse(texts);
        },
      }),
    };
  };
  return connectorWith(entry, driverOf);
}

/** A connector that knows every driver, as a conductor's. */
function connectorWith(switches: readonly SwitchEntry[], driverOf = findSwitchDriver) {
  return createNetworkConnector({ ...noNetworks, switches }, driverOf, undefined, undefined, undefined, switchDrivers);
}

const portAt = (switchId: string | null, portId: string | null) => ({
  address,
  localLinkConnection: { switch_id: switchId ?? '02:00:00:00:00:01', port_id: portId ?? 'some-port' },
});

describe.each(recordings)('$name', ({ outputs, reading }) => {
  const heard = { interfaces: [{ mac_address: address, lldp: recordedTlvs(outputs, reading.card) }] };
  const connector = connectorOf(reading, outputs);
  const places = () => connector.askPlaces(neighboursOf(heard));

  test('is recorded as it is, or not at all', async () => {
    const [neighbour] = neighboursOf(heard);
    const isKnown = reading.switch !== null && reading.port !== null;
    const { switch_id: switchId, port_id: portId } = linkConnection(neighbour, await places());
    expect({ switchId, portId }).toEqual(
      isKnown ? { switchId: reading.switch, portId: reading.port } : { switchId: undefined, portId: undefined },
    );
  });

  test('is moved only from what is known to be elsewhere', async () => {
    const compared = async (switchId: string | null, portId: string | null) =>
      wordOf(compareCablesIn(heard, [portAt(switchId, portId)], await places()));
    const { switch: atSwitch, port } = reading;
    const isKnown = atSwitch !== null && port !== null;
    expect(await compared(atSwitch, port)).toBe(isKnown ? 'same' : 'unknown');
    expect(await compared('02:00:00:00:00:99', port)).toBe(atSwitch === null ? 'unknown' : 'moved');
    const other = port?.replace(/\d+$/, (digits) => `${Number(digits) + 1}`) ?? null;
    expect(await compared(atSwitch, other)).toBe(isKnown ? 'moved' : 'unknown');
    // a listed switch has one form of names; of another this may be one more name of the port
    const [neighbour] = neighboursOf(heard);
    const isListed = neighbour !== undefined && (await places())(neighbour).isListed;
    expect(await compared(atSwitch, 'no such port')).toBe(isKnown && isListed ? 'moved' : 'unknown');
  });
});

function wordOf({ moved, uncompared }: ReturnType<typeof compareCablesIn>): string {
  if (moved.length > 0) return 'moved';
  return uncompared.length > 0 ? 'unknown' : 'same';
}

describe('a switch that no networks file lists, as of Neutron', () => {
  /** A switch and port as LLDP describes them. */
  const says = (chassis: readonly string[], port: readonly string[]) => {
    const lldp = tlvsOf(
      [...chassis.map((each) => `lldp.eth0.chassis.${each}`), ...port.map((each) => `lldp.eth0.port.${each}`)].join(
        '\n',
      ),
    );
    return { interfaces: [{ mac_address: address, lldp }] };
  };
  const { placeOf } = connectorWith([]);
  const compared = (heard: ReturnType<typeof says>, recorded: object) =>
    compareCablesIn(heard, [{ address, localLinkConnection: { ...recorded } }], placeOf);

  test.each([
    ['0000.5E00.5301', 'same'],
    ['00-00-5e-00-53-01', 'same'],
    ['00005e-005301', 'same'],
    ['00005E005301', 'same'],
    ['0000-5e00-5301', 'same'],
    ['0:0:5e:0:53:1', 'same'],
    ['leaf1', 'same'],
    ['LEAF1.example.com', 'same'],
    ['192.0.2.1', 'same'],
    ['00:00:5e:00:53:02', 'moved'],
    ['00005e005302', 'moved'],
    ['leaf2', 'unknown'],
    ['leaf1.example.net', 'unknown'],
    ['192.0.2.2', 'unknown'],
    ['rack-7-upper', 'unknown'],
  ])('the switch %s is %s', (switch_id, word) => {
    const chassis = ['mac=00:00:5e:00:53:01', 'name=leaf1.example.com', 'mgmt-ip=192.0.2.1'];
    const heard = says(chassis, ['ifname=Ethernet1/1']);
    expect(wordOf(compared(heard, { switch_id, port_id: 'Ethernet1/1' }))).toBe(word);
    // another port says nothing of a switch that isn't known to be this one
    const elsewhere = word === 'same' ? 'moved' : word;
    expect(wordOf(compared(heard, { switch_id, port_id: 'Ethernet1/2' }))).toBe(elsewhere);
  });

  test('the recorded name in another chassis id is a switch that may have a new card', () => {
    const heard = says(['mac=00:00:5e:00:53:01', 'name=leaf1'], ['ifname=swp1']);
    const at = { switch_id: '00:00:5e:00:53:09', port_id: 'swp1' };
    expect(wordOf(compared(heard, { ...at, switch_info: 'leaf1.example.com' }))).toBe('unknown');
    expect(wordOf(compared(heard, { ...at, switch_info: 'leaf2' }))).toBe('moved');
  });

  test('a system with a chassis id for each port is known by its name alone', () => {
    const chassis = ['mac=00:00:5e:00:53:d7', 'descr=Cisco Nexus Operating System (NX-OS) Software 9.3(8)', 'name=n9k'];
    const heard = says(chassis, ['ifname=Eth1/1']);
    expect(wordOf(compared(heard, { switch_id: '00:00:5e:00:53:01', port_id: 'Ethernet1/1' }))).toBe('unknown');
    expect(wordOf(compared(heard, { switch_id: '00:00:5e:00:53:d7', port_id: 'Ethernet1/1' }))).toBe('same');
    expect(wordOf(compared(heard, { switch_id: 'n9k', port_id: 'Ethernet1/1' }))).toBe('same');
    expect(wordOf(compared(heard, { switch_id: 'n9k', port_id: 'Ethernet1/2' }))).toBe('moved');
  });

  test.each([
    ['Gi1/0/1', 'GigabitEthernet1/0/1', 'same'],
    ['Gi1/0/1', 'gi1/0/1', 'same'],
    ['Gi1/0/1', 'Gig 1/0/1', 'same'],
    ['Gi1/0/1', 'GigabitEthernet1/0/2', 'moved'],
    ['Gi1/0/1', 'TenGigabitEthernet1/0/1', 'moved'],
    ['Fif1/1/2', 'FiftyGigE1/1/2', 'same'],
    ['Fif1/1/2', 'FiftyGigE1/1/3', 'moved'],
    ['Gi1/0/1', '1/0/1', 'unknown'],
    ['Eth1/6', 'Ethernet1/6', 'same'],
    ['Et7', 'Ethernet7', 'same'],
    ['Et7', 'Ethernet8', 'moved'],
    ['ge-0/0/7.0', 'ge-0/0/7', 'same'],
    ['ge-0/0/7.0', 'ge-0/0/8', 'moved'],
    ['Ethernet1/1', 'Ethernet4', 'unknown'],
    ['swp1s0', 'swp1', 'unknown'],
    ['swp1s0', 'swp1s1', 'moved'],
    ['513', '513', 'same'],
    ['513', '7', 'unknown'],
    ['513', 'ge-0/0/1', 'unknown'],
    ['etp1', 'Ethernet0', 'unknown'],
    ['bridge/ether1', 'ether1', 'unknown'],
    ['sfp-sfpplus1', 'sfp-sfpplus2', 'moved'],
  ])('its port %s is %s: %s', (ifname, port_id, word) => {
    const heard = says(['mac=00:00:5e:00:53:01'], [`ifname=${ifname}`]);
    expect(wordOf(compared(heard, { switch_id: '00:00:5e:00:53:01', port_id }))).toBe(word);
  });

  test.each([
    ['mac=00:00:5e:00:53:11', '0000.5e00.5311', 'same'],
    ['mac=00:00:5e:00:53:11', '0000.5e00.5312', 'moved'],
    ['mac=00:00:5e:00:53:11', 'Ethernet4', 'unknown'],
  ])('its port %s is %s: %s', (port, port_id, word) => {
    const heard = says(['mac=00:00:5e:00:53:01'], [port]);
    expect(wordOf(compared(heard, { switch_id: '00:00:5e:00:53:01', port_id }))).toBe(word);
  });

  test('a description may be its name, and another description says nothing', () => {
    const heard = says(['mac=00:00:5e:00:53:01'], ['ifname=513', 'descr=ge-0/0/1']);
    const at = (port_id: string) => wordOf(compared(heard, { switch_id: '00:00:5e:00:53:01', port_id }));
    expect([at('ge-0/0/1'), at('ge-0/0/2')]).toEqual(['same', 'unknown']);
  });

  test('aliases look like names of other ports', () => {
    const heard = says(['mac=00:00:5e:00:53:01', 'descr=SONiC Software Version: 202305'], ['ifname=Ethernet2']);
    expect(wordOf(compared(heard, { switch_id: '00:00:5e:00:53:01', port_id: 'Ethernet4' }))).toBe('unknown');
  });

  test('what can not be compared is said', () => {
    const heard = says(['mac=00:00:5e:00:53:01', 'name=leaf1'], ['ifname=513', 'descr=srv12 eth0']);
    const { uncompared } = compared(heard, { switch_id: 'rack-7', port_id: 'ge-0/0/1' });
    expect(uncompared.map(describeUncompared)).toEqual([
      `${address} hears switch 00:00:5e:00:53:01 (leaf1) port 513 (srv12 eth0); whether that is what its local_link_connection ` +
        'says, switch rack-7 port ge-0/0/1, is not known: these names are of other kinds, and the networks file does not list ' +
        'the switch',
    ]);
  });
});

test('of several switches that a neighbour may be, none is', () => {
  const at = (switchId: string, more: Partial<SwitchEntry>): SwitchEntry => ({
    switchId,
    driver: 'nxos',
    endpoint: 'ssh:192.0.2.1:2201',
    ...more,
  });
  const neighbour: LldpNeighbour = {
    chassisId: '00:00:5e:00:53:d7',
    portId: 'Ethernet1/1',
    systemName: 'switch',
    systemDescription: 'Cisco Nexus Operating System (NX-OS) Software 9.3(8)',
    managementAddresses: ['192.0.2.1'],
  };
  const placeAt = (...switches: SwitchEntry[]) => connectorWith(switches).placeOf(neighbour);
  const second = 'ssh:192.0.2.1:2202';
  expect(placeAt(at('a', {})).switchId).toBe('a');
  expect(placeAt(at('a', {}), at('b', { endpoint: second })).switchId).toBeUndefined();
  expect(placeAt(at('a', {}), at('b', { endpoint: second, lldpIds: ['SWITCH'] })).switchId).toBe('b');
  expect(placeAt(at('a', { lldpIds: ['switch'] }), at('b', { lldpIds: ['switch'] })).switchId).toBeUndefined();
  expect(placeAt(at('a', {}), at('b', { endpoint: second })).unclear).toMatch(
    /calls itself switch, port Ethernet1\/1, .* add its name to the lldp_ids/,
  );
});
