import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { silentLog } from '#shared/log.ts';
import { debian13 } from '#test/interop/debian-13.ts';
import { expectedFailures, type SuiteName, undecided } from '#test/interop/upstream/expected-failures.ts';
import { type Keystone, password, region, startKeystone } from '#test/interop/upstream/keystone.ts';
import { runGophercloud } from '#test/interop/upstream/run-gophercloud.ts';
import { type Outcome, runSuite } from '#test/interop/upstream/run-suite.ts';
import { cloudsYaml, tempestAccounts, tempestConf } from '#test/interop/upstream/suite-files.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';

/** OpenStack's own tests of Ironic's API, by its own clients, on a conductor: each passes, or its reason is listed. */

let tree: string;
let conductor: ConductorInProcess;
let keystone: Keystone;

beforeAll(async () => {
  tree = process.env['BATON_SUITES_TREE'] ?? (await debian13());
  conductor = await startConductorInProcess({ log: silentLog, settings: { BATON_AUTH: 'token' } });
  keystone = await startKeystone(conductor.context().auth.tokens, conductor.url);
});
afterAll(async () => {
  await keystone.close();
  await conductor.close();
});

/** Leaves all outcomes in `build/suites`. @returns tests that failed and are not listed, with why; listed ones that passed. */
async function surprises(suite: SuiteName, outcomes: readonly Outcome[], least: number): Promise<string[]> {
  await mkdir('build/suites', { recursive: true });
  await writeFile(`build/suites/${suite}.json`, JSON.stringify(outcomes, null, 1));
  const listed = new Set(Object.values(expectedFailures[suite]).flat());
  const isListed = ({ test }: Outcome) => [...listed].some((name) => test.includes(name));
  const count = (outcome: Outcome['outcome']) => outcomes.filter((each) => each.outcome === outcome).length;
  process.stdout.write(`${suite}: ${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped\n`);
  expect(outcomes.length).toBeGreaterThanOrEqual(least);
  const isUndecided = ({ test }: Outcome) =>
    Object.values(undecided)
      .flat()
      .some((name) => test.includes(name));
  return outcomes.flatMap((each) => {
    if (isUndecided(each)) return [];
    if (each.outcome === 'failed' && !isListed(each)) return [`${each.test} failed: ${each.why}`];
    if (each.outcome === 'passed' && isListed(each)) return [`${each.test} is listed as a failure and passed`];
    return [];
  });
}

test('tempest', async () => {
  const outcomes = await runSuite({
    tree,
    packages: ['ironic_tempest_plugin.tests.api'],
    files: { 'tempest.conf': tempestConf(keystone.url), 'accounts.yaml': tempestAccounts },
    env: { TEMPEST_CONFIG_DIR: '/home', TEMPEST_CONFIG: 'tempest.conf' },
  });
  expect(await surprises('tempest', outcomes, 380)).toEqual([]);
});

test('openstacksdk', async () => {
  const outcomes = await runSuite({
    tree,
    packages: ['openstack.tests.functional.baremetal'],
    files: { 'clouds.yaml': cloudsYaml(keystone.url) },
    env: { OS_CLIENT_CONFIG_FILE: '/home/clouds.yaml', OS_TEST_TIMEOUT: '180' },
  });
  expect(await surprises('openstacksdk', outcomes, 70)).toEqual([]);
});

test('ironicclient', async () => {
  const open = await startConductorInProcess({ log: silentLog });
  try {
    const tests = 'usr/lib/python3/dist-packages/ironicclient/tests';
    const outcomes = await runSuite({
      tree,
      packages: ['ironicclient.tests.functional.osc.v1'],
      files: {
        'test.conf': `[functional]\nauth_strategy = noauth\nironic_url = ${open.url}\n`,
        'forked-commands.py': await readFile(join(import.meta.dirname, 'upstream/forked-commands.py'), 'utf8'),
      },
      env: { IRONICCLIENT_TEST_CONFIG: '/home/test.conf', BEFORE_TESTS: '/home/forked-commands.py' },
      binds: { [`/${tests}`]: tests }, // Debian 13's client has none any more
    });
    expect(await surprises('ironicclient', outcomes, 100)).toEqual([]);
  } finally {
    await open.close();
  }
});

test('gophercloud', async () => {
  const open = await startConductorInProcess({ log: silentLog });
  try {
    const byToken = {
      OS_AUTH_URL: keystone.url,
      OS_USERNAME: 'system-admin',
      OS_PASSWORD: password,
      OS_DOMAIN_NAME: 'Default',
      OS_SYSTEM_SCOPE: 'all',
      OS_REGION_NAME: region,
      OS_BRANCH: 'master', // new enough for every test
    };
    const outcomes = [
      ...(await runGophercloud({ tree, login: 'v1', env: byToken })),
      ...(await runGophercloud({
        tree,
        login: 'noauth',
        env: { IRONIC_ENDPOINT: `${open.url}/v1/`, OS_BRANCH: 'master' },
      })),
    ];
    expect(await surprises('gophercloud', outcomes, 13)).toEqual([]);
  } finally {
    await open.close();
  }
});
