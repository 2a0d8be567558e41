import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { silentLog } from '#shared/log.ts';
import { type RunResult, run } from '#shared/process/run.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { loopAdditions, loopSite } from '#test/support/loop-site.ts';
import { batonProgram } from '#test/support/programs.ts';
import { nodeDocument, plainStrategy, strategyDocument } from '#test/support/site-documents.ts';

/** The real `baton` process deploys a site of machines in memory. */

const siteYaml = `\
schema: drydock/HostProfile/v1
metadata: {schema: metadata/Document/v1, name: server}
data:
  oob: {type: fake}
  platform: {image: 'http://images.example/debian.raw.zst', checksum: 'http://images.example/SHA256SUMS'}
---
schema: drydock/BaremetalNode/v1
metadata: {schema: metadata/Document/v1, name: control01}
data:
  host_profile: server
  oob: {fake_id: control01}
  interfaces: {eth0: {mac: '52:54:00:00:09:01'}}
  metadata: {rack: rack01, tags: [control]}
---
schema: drydock/BaremetalNode/v1
metadata: {schema: metadata/Document/v1, name: worker01}
data:
  host_profile: server
  oob: {fake_id: worker01}
  interfaces: {eth0: {mac: '52:54:00:00:09:02'}}
  metadata: {rack: rack01, tags: [worker]}
---
schema: shipyard/DeploymentStrategy/v1
metadata: {schema: metadata/Document/v1, name: deployment-strategy}
data:
  groups:
  - {name: workers, critical: false, depends_on: [control], selectors: [{node_tags: [worker]}]}
  - name: control
    critical: true
    depends_on: []
    selectors: [{node_tags: [control], rack_names: [rack01]}]
    success_criteria: {percent_successful_nodes: 100}
`;

let conductor: ConductorInProcess;
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-site-cli-'));
  conductor = await startConductorInProcess({ log: silentLog });
});
afterAll(async () => {
  await conductor.close();
  await rm(directory, { recursive: true });
});

const baton = (...args: string[]): Promise<RunResult> =>
  run(batonProgram, args, {
    env: { BATON_URL: conductor.url },
    okExitCodes: [0, 1],
    timeoutMs: 300_000,
    cwd: directory,
  });

test('a site is deployed, again without anything being done, and one server again', async () => {
  await writeFile(join(directory, 'site.yaml'), siteYaml);
  const lines = [
    'baton site upload site site.yaml',
    'baton site groups --version buffer',
    'baton site commit',
    'baton action create deploy_site --dry-run',
    'baton action create deploy_site --wait',
    'baton action create update_site --wait',
    'baton action create redeploy_server --param target_nodes=worker01 --dry-run',
    'baton action create redeploy_server --param target_nodes=worker01 --wait',
    'baton action list',
  ];
  const printed: string[] = [];
  for (const line of lines) {
    const { exitCode, stdout, stderr } = await baton(...line.split(' ').slice(1));
    expect([line, exitCode, stderr]).toEqual([line, 0, '']);
    printed.push(stdout);
  }
  expect(printed[1]).toBe('control     critical  1 node\n└─ workers            1 node\n');
  expect(printed[3]).toContain('control  critical  control01\nworkers            worker01\n');
  expect(printed[4]).toContain(
    'Group control [Critical] ended with stage: success\nGroup workers ended with stage: success\n',
  );
  expect(printed[4]).toMatch(
    /Nodes: 2 success, 0 prepared, 0 failure, 0 not started\ndeploy_site .*: Complete, .*: success\n$/,
  );
  expect(printed[5]).toMatch(/update_site .*: Complete, .*: success\n$/);
  expect(printed[6]).toContain(
    '  this conductor has no BATON_KUBECONFIG: nothing is drained, and no node leaves a cluster\n' +
      '  revision 1 has no promenade/EtcdClusters/v1, nor has the committed one: nothing leaves etcd\n',
  );
  const plan = [...(printed[6] ?? '').matchAll(/^ {3}(\w+): .*/gm)].map(([, step]) => step);
  expect(plan).toEqual(['disks', 'deleted', 'wipe', 'prepare', 'deploy']);
  expect(printed[7]).toContain(
    'Group worker01 [Critical] ended with stage: success\n' +
      'Nodes: 1 success, 0 prepared, 0 failure, 0 not started\n' +
      '  worker01: all was done\n' +
      '    wipe simulated (deploy_interface fake): no disk is touched, no receipt\n',
  );
  expect(printed[7]).toMatch(/redeploy_server .*: Complete, .*: success\n$/);
  const lastFirst = /redeploy_server +Complete[\s\S]*update_site +Complete[\s\S]*deploy_site +Complete/;
  expect(printed[8]).toMatch(lastFirst);
});

test('what is deployed and documented otherwise by now is named by update_site as by verify_site', async () => {
  const upload = async (resourceClass: string, rack: string): Promise<void> => {
    const changed = nodeDocument('c1', `  resource_class: ${resourceClass}\n`).replace('rack: rack1', `rack: ${rack}`);
    await writeFile(join(directory, 'changed.yaml'), changed + nodeDocument('c2') + plainStrategy);
    await baton('site', 'upload', 'site', 'changed.yaml', '--mode', 'replace');
    expect((await baton('site', 'commit')).exitCode).toBe(0);
  };
  await upload('small', 'r1');
  expect((await baton('action', 'create', 'deploy_site', '--wait')).exitCode).toBe(0);
  await upload('large', 'r2');
  const update = await baton('action', 'create', 'update_site', '--wait');
  expect(update).toMatchObject({ exitCode: 0, stderr: '' });
  const stays = '1 node stays as it was deployed although its documents differ: c1 ';
  expect(update.stdout).toContain(
    `${stays}(properties/rack): relabel_nodes brings it in line, without a deploy\n` +
      `${stays}(resource_class): redeploy_server with target-revision=committed redeploys it\n`,
  );
  const verify = await baton('action', 'create', 'verify_site', '--wait');
  expect(verify.exitCode).toBe(1);
  expect(verify.stdout).toContain('1 differs: c1 (properties/rack, resource_class)');
});

test('a site whose groups have no nodes is complete with 0, and its end says that nothing was there', async () => {
  const none = '[{name: g, critical: true, depends_on: [], selectors: [{node_tags: [nobody]}]}]';
  await writeFile(join(directory, 'none.yaml'), nodeDocument('c1') + strategyDocument(none));
  await baton('site', 'upload', 'site', 'none.yaml', '--mode', 'replace');
  expect((await baton('site', 'commit')).exitCode).toBe(0);
  const { exitCode, stdout } = await baton('action', 'create', 'deploy_site', '--wait');
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(
    /\nWarning there was nothing to deploy: no group .*\ndeploy_site .*: Complete, .*: success\n$/,
  );
});

test('a conductor that dies meanwhile is waited for; a critical group that fails ends it with 1', async () => {
  const groups = strategyDocument(
    '[{name: first, critical: false, depends_on: [], selectors: [{node_names: [s1]}], success_criteria: {minimum_successful_nodes: 2}}, ' +
      '{name: second, critical: true, depends_on: [first], selectors: [{node_names: [s2]}]}, ' +
      '{name: third, critical: false, depends_on: [], selectors: [{node_names: [s3]}]}]',
  );
  await writeFile(
    join(directory, 'failing.yaml'),
    ['s1', 's2', 's3'].map((name) => nodeDocument(name)).join('') + groups,
  );
  await baton('site', 'upload', 'site', 'failing.yaml', '--mode', 'replace');
  expect((await baton('site', 'commit')).exitCode).toBe(0);
  const deathsBefore = conductor.deaths();
  conductor.atCheckpoints((_, passed) => (passed === 5 ? 'die' : 'go on'));
  const { exitCode, stdout, stderr } = await baton('action', 'create', 'deploy_site', '--wait');
  expect(conductor.deaths()).toBe(deathsBefore + 1);
  expect(exitCode).toBe(1);
  expect(stderr).toContain('deploy_site is Failed');
  expect(stdout).toContain(': failed due to critical group failed');
  expect(stdout).toContain(
    'Group first ended with stage: failure: prepare: 1 of 1 nodes succeeded; minimum_successful_nodes asks for 2, there are 1\n',
  );
  expect(stdout).toContain('Group second [Critical] ended with stage: failure: due to dependency: first failed\n');
  expect(stdout).toContain('Group third ended with stage: success\n');
  expect(stdout).toContain(
    'Nodes: 1 success, 1 prepared, 0 failure, 1 not started\n  prepared: s1\n  not started: s2\n',
  );
});

test('a site as Airship publishes them is imported unchanged, and says what it needs to be deployed', async () => {
  for (const [file, text] of Object.entries(loopSite)) {
    await mkdir(dirname(join(directory, 'loop', file)), { recursive: true });
    await writeFile(join(directory, 'loop', file), text);
  }
  // what the tests before have committed would be one site with it
  await baton('site', 'remove', 'site');
  const imported = await baton('site', 'import', 'loop', '--mode', 'append');
  // a slow machine's conductor may be silent for two seconds, which is said
  const silence = expect.stringMatching(/^(?:No answer from the conductor at \S+ for \d+ s; waiting\n)*$/);
  expect(imported).toMatchObject({ exitCode: 0, stderr: silence });
  const validated = await baton('site', 'validate');
  expect(validated).toMatchObject({ exitCode: 0, stderr: silence });
  for (const { stdout } of [imported, validated]) {
    expect(stdout).toContain('storagePolicy is cleartext and data is a secret');
    expect(stdout).toContain('is jammy, which no baton/Images/v1 explains');
    expect(stdout).not.toContain('loop-ipmi-9f2c');
  }
  expect((await baton('site', 'show', 'loop')).stdout).not.toContain('loop-ipmi-9f2c');
  expect((await baton('site', 'commit')).exitCode).toBe(0);
  const deploy = ['action', 'create', 'deploy_site', '--allow-intermediate-commits'];
  const plan = await baton(...deploy, '--dry-run');
  expect([plan.exitCode, plan.stdout]).toEqual([1, expect.stringContaining('loop-control-1 would fail, untouched')]);
  expect((await baton(...deploy)).stderr).toContain('there is nothing to deploy');
  await writeFile(join(directory, 'images.yaml'), loopAdditions);
  await baton('site', 'upload', 'images', 'images.yaml');
  await baton('site', 'commit');
  expect((await baton(...deploy)).stderr).toContain('has no MAC address');
});
