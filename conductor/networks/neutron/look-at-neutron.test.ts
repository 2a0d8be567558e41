import { expect, test } from 'vitest';
import { bonded, group, neutronWorld, nodeUuid, tenant } from '#conductor/networks/neutron/testing/neutron-world.ts';

/** A plan and a diff show what connecting then does. */

const world = neutronWorld();
const differences = async (...about: Parameters<typeof world.look>) =>
  (await world.look(...about)).map((each) => each.differences);

test('a look changes nothing, and what it shows is gone once it is done', async () => {
  const before = JSON.stringify(world.allPorts());
  const looks = await world.look({ purpose: 'provisioning' });
  expect(looks).toMatchObject([
    { network: 'provision-net', found: null, differences: ['network provision-net has no port for it'] },
    { network: null, found: null, differences: [] },
  ]);
  expect(JSON.stringify(world.allPorts())).toBe(before);
  expect(world.neutron.requests.filter((each) => !each.startsWith('GET '))).toEqual([]);
  await world.go({ purpose: 'provisioning' });
  const [made] = world.allPorts();
  expect(await world.look({ purpose: 'provisioning' })).toMatchObject([
    { found: `${made?.id} ACTIVE`, differences: [], commands: [] },
    { differences: [] },
  ]);
});

test('a group’s VIF is found at all its ports; what is done is said once', async () => {
  const blue = world.neutron.addPort(world.neutron.addNetwork('blue'));
  await world.go(tenant(blue.id), bonded);
  const found = `${blue.id} ACTIVE`;
  expect(await world.look(tenant(blue.id), bonded)).toMatchObject([
    { found, differences: [], commands: [] },
    { found, differences: [], commands: [] },
  ]);
  const difference = [`port ${blue.id} is still bound to the node`];
  expect(await world.look('isolated', bonded)).toMatchObject([
    { found, differences: difference, commands: [`port set ${blue.id} --host '' --no-binding-profile`] },
    { found, differences: difference, commands: [] },
  ]);
});

test('a port that was made for a network card that is gone is left over, told, and removed', async () => {
  const own = { name: 'baton cleaning x', device_id: nodeUuid, device_owner: 'baremetal:none' };
  const left = world.neutron.addPort(world.networkId('clean-net'), { ...own, mac_address: '52:54:00:00:00:77' });
  expect(await differences('isolated')).toEqual([[`port ${left.id} (baton cleaning x) is left over`], []]);
  await world.go('isolated');
  expect(world.allPorts()).toEqual([]);
  expect(await differences('isolated')).toEqual([[], []]);
});

test.each([
  { status: 'DOWN' },
  { 'binding:vnic_type': 'normal' },
  { 'binding:vif_type': 'binding_failed', status: 'DOWN' },
  { 'binding:profile': {} },
])('what somebody else has made %j of is bound again, both of Baton’s own and of VIFs', async (changes) => {
  const blue = world.neutron.addPort(world.neutron.addNetwork('blue'));
  for (const destination of [tenant(blue.id), { purpose: 'cleaning' } as const]) {
    await world.go(destination, bonded);
    const [bound] = world.allPorts().filter((each) => each['binding:host_id'] === nodeUuid);
    Object.assign(bound ?? {}, changes);
    expect((await differences(destination, bonded)).flat()).not.toEqual([]);
    await world.go(destination, bonded);
    expect((await differences(destination, bonded)).flat()).toEqual([]);
    expect(bound).toMatchObject({ status: 'ACTIVE', 'binding:vif_type': 'other', 'binding:vnic_type': 'baremetal' });
    const address = bound === blue ? group.address : bonded[0]?.address;
    expect(world.allPorts().map((each) => each.mac_address)).toContain(address);
  }
});

test('a VIF that its owner has disabled is bound and left DOWN; Baton’s own port is enabled again', async () => {
  const blue = world.neutron.addPort(world.neutron.addNetwork('blue'), { admin_state_up: false });
  await world.go(tenant(blue.id), bonded);
  expect(blue).toMatchObject({ 'binding:host_id': nodeUuid, status: 'BUILD', admin_state_up: false });
  expect((await differences(tenant(blue.id), bonded)).flat()).toEqual([]);
  await world.go({ purpose: 'cleaning' });
  const [own] = world.allPorts().filter(({ device_id }) => device_id === nodeUuid);
  Object.assign(own ?? {}, { admin_state_up: false, status: 'DOWN' });
  expect((await differences({ purpose: 'cleaning' })).flat()).toEqual([`port ${own?.id} is DOWN, not ACTIVE`]);
  await world.go({ purpose: 'cleaning' });
  expect(own).toMatchObject({ admin_state_up: true, status: 'ACTIVE' });
});
