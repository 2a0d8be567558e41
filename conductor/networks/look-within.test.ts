import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { isolated, portVlans } from '#conductor/model/port-vlans.ts';
import { createNetworkConnector } from '#conductor/networks/connect-node.ts';
import { noNetworks } from '#conductor/networks/networks-file.ts';
import type { SwitchDriver } from '#conductor/networks/switch-driver.ts';
import type { SwitchPortMove } from '#conductor/networks/switch-port-move.ts';
import { createFakeSwitch } from '#conductor/networks/switches/fake.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';

const moveAt = (switchId: string, driver: string, endpoint: string): SwitchPortMove => ({
  port: {
    uuid: switchId,
    address: switchId,
    pxeEnabled: true,
    portgroupUuid: null,
    physicalNetwork: null,
    localLinkConnection: {},
  },
  switchEntry: { switchId, driver, endpoint },
  portId: 'p1',
  network: { name: 'blue', vlans: portVlans(200) },
});

test('a look within a time says which switches did not answer, and what the others have', async () => {
  const fake = createFakeSwitch({ ports: ['p1'] });
  fake.ports.set('p1', isolated);
  const silent: SwitchDriver = {
    ...fake.driver,
    connect: (access) => ({ ...fake.driver.connect(access), readPorts: () => new Promise(() => undefined) }),
  };
  const broken: SwitchDriver = {
    ...fake.driver,
    connect: () => {
      throw new AppError('invalid_argument', 'endpoint nonsense is none');
    },
  };
  const drivers: Record<string, SwitchDriver> = { fake: fake.driver, silent, broken };
  const connector = createNetworkConnector(noNetworks, (name) => drivers[name] ?? fake.driver);
  const moves = ['fake', 'silent', 'broken'].map((driver) => moveAt(driver, driver, fake.endpoint));
  const { looks, failures } = await connector.look(moves, undefined, 100);
  expect(looks).toEqual([{ move: moves[0], found: { portId: 'p1', vlans: isolated }, commands: ['p1: VLAN 200'] }]);
  expect(failures.map(({ moves: missed, error }) => [missed, errorChain(error)])).toEqual([
    [[moves[1]], 'switch silent did not answer in 0.1 s'],
    [[moves[2]], 'endpoint nonsense is none'],
  ]);
});

test('a look at many switches holds the locks of four at a time', async () => {
  const fake = createFakeSwitch({ ports: ['p1'] });
  fake.ports.set('p1', isolated);
  let now = 0;
  let most = 0;
  const connector = createNetworkConnector(
    noNetworks,
    () => fake.driver,
    async (_switchId, signal, work) => {
      now += 1;
      most = Math.max(most, now);
      await setImmediate();
      try {
        return await work(signal);
      } finally {
        now -= 1;
      }
    },
  );
  const moves = Array.from({ length: 20 }, (_, index) => moveAt(`leaf${index}`, 'fake', fake.endpoint));
  const { looks, failures } = await connector.look(moves);
  expect(looks).toHaveLength(20);
  expect(failures).toEqual([]);
  expect(most).toBe(4);
});
