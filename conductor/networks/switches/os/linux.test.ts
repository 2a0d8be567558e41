import { expect, onTestFinished, test } from 'vitest';
import { portVlans } from '#conductor/model/port-vlans.ts';
import type { SwitchBond } from '#conductor/model/switch-bond.ts';
import { findSwitchDriver } from '#conductor/networks/switches/index.ts';
import { freshLinux, startProgramSwitch } from '#test/simulators/switch/program-switch.ts';
import { accessTo } from '#test/simulators/switch/under-test.ts';

const ports = ['swp1', 'swp2', 'swp3'];
const bond: SwitchBond = { number: 101, mode: 'lacp', acrossPair: false };
const refusesBonds = { swp2: { isolated: false, vlans: {}, refusesBonds: true } };

async function startLinux(fresh: object) {
  const linux = await startProgramSwitch(fresh);
  const connection = findSwitchDriver('linux').connect({ ...accessTo(linux), bondNumbers: { from: 101, to: 110 } });
  onTestFinished(async () => {
    await connection.close();
    await linux.stop();
  });
  return { linux, connection };
}

const single = (portId: string, vlan?: number) => ({ portId, vlans: portVlans(vlan) });
const bonded = ['swp1', 'swp2'].map((portId) => ({ portId, vlans: portVlans(200), bond }));

test('a port that the kernel takes into no bond is what it was, and can be moved', async () => {
  const { connection } = await startLinux({ ...freshLinux(ports), ...refusesBonds });
  const before = ports.map((portId) => single(portId, 100));
  await connection.apply(before);
  await expect(connection.apply(bonded)).rejects.toMatchObject({
    code: 'switch_error',
    message: expect.stringMatching(/refused.*cannot be enslaved/s),
  });
  expect(await connection.readPorts(ports)).toEqual(before);
  await connection.apply([single('swp2', 300)]);
  expect(await connection.readPorts(['swp2'])).toEqual([single('swp2', 300)]);
});

test('at the start of the bridge such a port is isolated, and those after it are what they were', async () => {
  const fresh: object = freshLinux(ports);
  const { linux, connection } = await startLinux(fresh);
  await connection.apply([...bonded, single('swp3', 100)]);
  Object.assign(fresh, refusesBonds);
  await linux.reboot('sh /var/lib/baton/ports.sh');
  expect(await connection.readPorts(ports)).toEqual([bonded[0], single('swp2'), single('swp3', 100)]);
});
