import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createNetworkConnector } from '#conductor/networks/connect-node.ts';
import type { LldpNeighbour } from '#conductor/networks/hear-switches.ts';
import { noNetworks, type SwitchEntry } from '#conductor/networks/networks-file.ts';
import type { SwitchDriver } from '#conductor/networks/switch-driver.ts';
import { findSwitchDriver, switchOperatingSystems } from '#conductor/networks/switches/index.ts';
import { linkConnection, movedCablesIn, neighboursOf } from '#conductor/nodes/inspection/moved-cables.ts';
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
  return createNetworkConnector({ ...noNetworks, switches: entry }, driverOf);
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
    const movedFrom = async (switchId: string | null, portId: string | null) =>
      movedCablesIn(heard, [portAt(switchId, portId)], await places()).length > 0;
    expect(await movedFrom(reading.switch, reading.port)).toBe(false);
    expect(await movedFrom('02:00:00:00:00:99', reading.port)).toBe(reading.switch !== null);
    expect(await movedFrom(reading.switch, 'no such port 99')).toBe(reading.switch !== null && reading.port !== null);
  });
});

test('names of ports at a switch that is not listed may be shortened', () => {
  const connector = createNetworkConnector(noNetworks, findSwitchDriver);
  const lldp = tlvsOf('lldp.eth0.chassis.mac=00:00:5e:00:53:01\nlldp.eth0.port.ifname=Gi1/0/1');
  const moved = (portId: string) =>
    movedCablesIn(
      { interfaces: [{ mac_address: address, lldp }] },
      [portAt('0000.5E00.5301', portId)],
      connector.placeOf,
    ).length > 0;
  expect(['GigabitEthernet1/0/1', 'gi1/0/1', 'Gig1/0/1'].map(moved)).toEqual([false, false, false]);
  expect(['GigabitEthernet1/0/2', 'TenGigabitEthernet1/0/1', '1/0/1'].map(moved)).toEqual([true, true, true]);
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
  const placeAt = (...switches: SwitchEntry[]) =>
    createNetworkConnector({ ...noNetworks, switches }, findSwitchDriver).placeOf(neighbour);
  const second = 'ssh:192.0.2.1:2202';
  expect(placeAt(at('a', {})).switchId).toBe('a');
  expect(placeAt(at('a', {}), at('b', { endpoint: second })).switchId).toBeUndefined();
  expect(placeAt(at('a', {}), at('b', { endpoint: second, lldpIds: ['SWITCH'] })).switchId).toBe('b');
  expect(placeAt(at('a', { lldpIds: ['switch'] }), at('b', { lldpIds: ['switch'] })).switchId).toBeUndefined();
  expect(placeAt(at('a', {}), at('b', { endpoint: second })).unclear).toMatch(
    /calls itself switch, port Ethernet1\/1, .* add its name to the lldp_ids/,
  );
});
