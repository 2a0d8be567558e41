import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFailed, test } from 'vitest';
import { isolated, portVlans } from '#conductor/model/port-vlans.ts';
import { findSwitchDriver } from '#conductor/networks/switches/index.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import type { ServedSwitch } from '#test/simulators/switch/switch-server.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { demoInstance, enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';

export interface KilledMove {
  readonly driver: string;
  readonly portId: string;
  readonly start: () => Promise<ServedSwitch>;
  /** Whether the switch takes up a change as a whole. */
  readonly isTransaction: boolean;
  /** Whether a change shuts the port: with that noted, it is set as Baton sets none. */
  readonly isShutMeanwhile?: true;
  /** The conductor is killed at every so many of a move's requests; default 1. */
  readonly every?: number;
}

const switchId = '00:00:5e:00:53:07';
const name = 'moved';

/**
 * A deploy whose conductor dies at a request of the move to the tenant network, which the switch still does, and another
 * that goes on: at each request, from the first on.
 */
export function testKilledMoves(title: string, move: KilledMove): void {
  const { driver, portId, start, isTransaction, isShutMeanwhile, every = 1 } = move;
  describe(`a conductor killed amid ${title}`, () => {
    let folder: string;
    let simulated: ServedSwitch;
    let conductor: ConductorProcess;
    let operator: Operator;
    let machine: SimulatedNode;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'baton-killed-'));
      simulated = await start();
      const { endpoint, login } = simulated.access;
      const entry = {
        switch_id: switchId,
        driver,
        endpoint,
        credential: 'leafs',
        ...(login?.certificate === undefined ? { host_key: login?.hostKey } : { certificate: login.certificate }),
        ports: [portId],
        create_vlans: true,
        ...(findSwitchDriver(driver).removesVlans?.length ? { remove_vlans: true } : {}),
      };
      const networks = {
        switches: [entry],
        networks: { provisioning: { vlan: 100 }, tenant: { vlan: 200 } },
        defaults: { provisioning: 'provisioning', cleaning: 'provisioning', tenant: 'tenant' },
      };
      await writeFile(join(folder, 'networks.yaml'), JSON.stringify(networks));
      conductor = await prepareConductor({ BATON_NETWORKS_FILE: join(folder, 'networks.yaml') });
      machine = await startSimulatedNode({ conductorUrl: () => conductor.url, mac: '52:54:00:00:07:01' });
      await conductor.start();
      operator = createOperator(conductor.url);
      const { username, password } = simulated;
      await operator.call('PUT', '/api/v1.0/credentials/leafs', { username, password });
      await enrolSimulatedNode(operator, machine, name, { network_interface: 'flat' });
      await operator.provision(name, 'manage');
      await operator.waitForState(name, 'manageable');
      const { ports } = (await operator.call('GET', `/v1/ports?node=${name}`)) as { ports: { uuid: string }[] };
      const plug = { switch_id: switchId, port_id: portId };
      await operator.call('PATCH', `/v1/ports/${ports[0]?.uuid}`, [
        { op: 'add', path: '/local_link_connection', value: plug },
      ]);
      await operator.call('PATCH', `/v1/nodes/${name}`, [
        { op: 'add', path: '/network_interface', value: 'switchport' },
      ]);
      await operator.provision(name, 'provide');
      await operator.waitForState(name, 'available');
    });
    afterAll(async () => {
      await machine?.close();
      await conductor?.close();
      await simulated?.stop();
      await rm(folder, { recursive: true });
    });

    const found = async () => {
      const connection = findSwitchDriver(driver).connect(simulated.access);
      try {
        return (await connection.readPorts([portId]))[0]?.vlans;
      } finally {
        await connection.close();
      }
    };

    test('the port ends as asked, and is nowhere else before', async () => {
      onTestFailed(() => void process.stderr.write(conductor.log().slice(-6000)));
      const between = [...(isTransaction ? [] : [isolated]), ...(isShutMeanwhile ? ['other'] : [])];
      let kills = 0;
      for (let request = 1, wasKilled = true; wasKilled; request += every) {
        const before = machine.disk.length;
        await operator.provision(name, 'active');
        // the ramdisk is in its network: what comes from now on is the move to the tenant's
        await expect.poll(() => machine.disk.length).toBeGreaterThan(before);
        simulated.faults.cutAt = { command: request, done: true, kill: () => conductor.kill('SIGKILL') };
        wasKilled = await Promise.race([
          conductor.exited().then(() => true),
          operator.waitForState(name, 'active').then(
            () => false,
            // nobody answers any more
            () => true,
          ),
        ]);
        simulated.faults.cutAt = undefined;
        let seen: unknown = portVlans(200);
        if (wasKilled) {
          kills += 1;
          // every other time the next conductor is the first to look
          if (kills % 2) seen = await found();
          await conductor.start();
        }
        expect([portVlans(100), portVlans(200), ...between], `request ${request}`).toContainEqual(seen);
        await operator.waitForState(name, 'active');
        expect(await found(), `request ${request}`).toEqual(portVlans(200));
        await operator.provision(name, 'deleted');
        await operator.waitForState(name, 'available');
        expect(await found(), `request ${request}`).toEqual(isolated);
        const instance = { op: 'add', path: '/instance_info', value: demoInstance };
        await operator.call('PATCH', `/v1/nodes/${name}`, [instance]);
      }
      expect(kills).toBeGreaterThanOrEqual(2);
    });
  });
}
