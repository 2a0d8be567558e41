import { expect, test } from 'vitest';
import { isolated, portVlans } from '#conductor/model/port-vlans.ts';
import { createFakeSwitch } from '#conductor/networks/switches/fake.ts';
import { testSwitchDriver } from '#conductor/networks/switches/switch.contract.ts';
import { AppError } from '#shared/errors/app-error.ts';

testSwitchDriver('fake', async () => {
  const morePorts = Array.from({ length: 45 }, (_, index) => `p${index + 4}`);
  const fake = createFakeSwitch({ ports: ['p1', 'p2', 'p3', ...morePorts] });
  return {
    driver: fake.driver,
    access: { endpoint: fake.endpoint },
    portIds: ['p1', 'p2', 'p3'],
    morePorts,
    setByHand: async (portId, vlan) => void fake.ports.set(portId, portVlans(vlan)),
    deadEndpoint: 'fake:elsewhere',
    stop: async () => undefined,
  };
});

test('a fake switch fails on request, and records what was applied', async () => {
  const fake = createFakeSwitch({ ports: ['p1'] });
  const connection = fake.driver.connect({ endpoint: fake.endpoint });
  fake.failure = new AppError('switch_error', 'out of order');
  await expect(connection.apply([{ portId: 'p1', vlans: isolated }])).rejects.toThrow('out of order');
  fake.failure = undefined;
  await connection.apply([{ portId: 'p1', vlans: isolated }]);
  expect(fake.applied).toEqual([{ portId: 'p1', vlans: isolated }]);
});
