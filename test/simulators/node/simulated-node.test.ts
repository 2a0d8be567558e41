import { afterEach, expect, test } from 'vitest';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { claimPort } from '#test/support/free-port.ts';

let node: SimulatedNode | undefined;
afterEach(() => node?.bmc.close());

test('a ramdisk that can not begin leaves its port to others', async () => {
  const claimed = Promise.withResolvers<number>();
  const proxy = Promise.withResolvers<never>();
  node = await startSimulatedNode({
    conductorUrl: () => 'http://127.0.0.1:9',
    mac: '52:54:00:00:00:01',
    plainHttp: true,
    startProxy: (port) => {
      claimed.resolve(port);
      return proxy.promise;
    },
  });
  await askBmc(node, 'PATCH', '', { Boot: { BootSourceOverrideTarget: 'Pxe', BootSourceOverrideEnabled: 'Once' } });
  await askBmc(node, 'POST', '/Actions/ComputerSystem.Reset', { ResetType: 'On' });
  const port = await claimed.promise;
  const closed = node.close();
  proxy.reject(new Error('no proxy'));
  await expect(closed).rejects.toThrow('no proxy');
  const { release } = await claimPort({ from: port, below: port + 1 });
  await release();
});

async function askBmc({ bmc }: SimulatedNode, method: string, path: string, body: unknown): Promise<void> {
  const response = await fetch(`${bmc.address}/redfish/v1/Systems/1${path}`, {
    method,
    headers: {
      authorization: `Basic ${Buffer.from('admin:simulated').toString('base64')}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify(body),
  });
  expect(response.status).toBeLessThan(300);
}
