import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, onTestFailed, test } from 'vitest';
import type { FlowView } from '#conductor/api/flows.ts';
import { type StoredImage, writeStore } from '#shared/chunks/write-store.ts';
import { systemClock } from '#shared/clock.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';

/**
 * SIGKILL at checkpoints of two deploys of the same image, whose machines send each other what they have: the conductor
 * serves the chunks and names the neighbours, and both is gone for a while. Every third: they come to the same points one
 * after the other.
 */
const everyOf = 3;

const names = ['first', 'second'];
const raw = randomBytes(12 * 1024 * 1024);

let folder: string;
let image: StoredImage;
let conductor: ConductorProcess;
let operator: Operator;
let machines: readonly SimulatedNode[] = [];
let server: Awaited<ReturnType<typeof serveSlowly>>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-shared-deploy-'));
  image = await writeStore(Readable.from([raw]), join(folder, 'images'), 'disk');
  conductor = await prepareConductor({ BATON_IMAGES_DIR: join(folder, 'images') });
  server = await serveSlowly(() => conductor.url);
  machines = await Promise.all(
    names.map((name, at) =>
      startSimulatedNode({
        conductorUrl: () => conductor.url,
        mac: `52:54:00:00:cc:0${at}`,
        writesTo: join(folder, name),
      }),
    ),
  );
  await conductor.start();
  operator = createOperator(conductor.url);
  for (const [at, machine] of machines.entries()) {
    await enrolSimulatedNode(operator, machine, names[at] ?? '', { instance_info: instance() });
  }
  await conductor.kill('SIGTERM');
});
afterAll(async () => {
  for (const machine of machines) await machine.close();
  await server.close();
  await conductor.close();
  await rm(folder, { recursive: true, force: true });
});

const instance = () => ({
  image_source: `${server.url}/images/disk.caibx`,
  image_os_hash_algo: 'sha256',
  image_os_hash_value: image.sha256,
});

/** Passes on what the conductor serves; a fast server would be asked alone. */
async function serveSlowly(base: () => string) {
  const proxy = createServer((request, response) => {
    const pass = async (): Promise<Buffer> => {
      await systemClock.sleep(30);
      const answer = await fetch(`${base()}${request.url}`);
      if (!answer.ok) throw new Error(`answered ${answer.status}`);
      return Buffer.from(await answer.arrayBuffer());
    };
    pass().then(
      (body) => response.writeHead(200, { 'content-length': body.length }).end(body),
      () => response.writeHead(503, { 'content-length': 0 }).end(),
    );
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    close: async () => {
      proxy.closeAllConnections();
      proxy.close();
      await once(proxy, 'close');
    },
  };
}

/** Reads the bytes from neighbours of its last deploy. */
async function fromNeighbours(name: string): Promise<number> {
  const { steps } = (await operator.call('GET', `/v1/nodes/${name}/flow`)) as unknown as FlowView;
  return steps.findLast(({ step }) => step === 'write_image')?.image_bytes?.neighbours ?? 0;
}

test('two machines that share an image are deployed, at whatever event the conductor dies', async () => {
  onTestFailed(() => {
    process.stderr.write(conductor.log().slice(-6000));
  });
  let [killed, shared] = [0, 0];
  await conductor.start({ CRASH_AT_CHECKPOINT: 'SIGUSR2+1' });
  for (let checkpoint = 1; ; checkpoint += everyOf) {
    await Promise.all(names.map((name) => writeFile(join(folder, name), '')));
    await conductor.armCrash();
    const dies = conductor.exited().then(() => false);
    const deploy = async (name: string): Promise<void> => {
      await operator.provision(name, 'active');
      await operator.waitForState(name, 'active', 120_000);
    };
    const deployed = Promise.all(names.map(deploy)).then(
      () => true,
      () => dies, // before it had answered
    );
    const survived = await Promise.race([dies, deployed]);
    if (!survived) {
      killed += 1;
      await conductor.start({ CRASH_AT_CHECKPOINT: `SIGUSR2+${checkpoint + everyOf}` });
    }
    for (const [at, name] of names.entries()) {
      const { provision_state: state } = await operator.node(name);
      if (state === 'available') await operator.provision(name, 'active');
      await operator.waitForState(name, 'active', 120_000);
      const disk = await readFile(join(folder, name));
      const isImage = disk.subarray(0, raw.length).equals(raw);
      expect([name, checkpoint, machines[at]?.state(), isImage]).toEqual([
        name,
        checkpoint,
        { power: 'on', runs: 'instance' },
        true,
      ]);
      shared += await fromNeighbours(name);
    }
    if (survived) break;
    for (const name of names) await operator.provision(name, 'deleted');
    for (const name of names) {
      await operator.waitForState(name, 'available');
      await operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path: '/instance_info', value: instance() }]);
    }
  }
  expect(killed).toBeGreaterThanOrEqual(56 / everyOf);
  expect(shared).toBeGreaterThan(0);
});
