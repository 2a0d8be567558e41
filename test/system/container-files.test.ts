import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { Environment } from '#conductor/start/environment.ts';
import { run } from '#shared/process/run.ts';
import packageJson from '../../package.json' with { type: 'json' };

/** The compose file, by Debian's docker-compose, and the Helm chart, whose templates are rendered as helm renders them. */

const folder = join(import.meta.dirname, '../../docs/containers');
const chart = join(folder, 'helm/baton');
let directory: string;
let renderer: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-containers-'));
  renderer = join(directory, 'render');
  await run('/usr/lib/go-1.19/bin/go', ['build', '-o', renderer, join(import.meta.dirname, 'helm/main.go')], {
    // Debian's packages lie in a GOPATH; nothing is downloaded
    env: { GO111MODULE: 'off', GOPATH: '/usr/share/gocode', GOCACHE: join(directory, 'go-cache') },
    timeoutMs: 600_000,
  });
}, 600_000);
afterAll(() => rm(directory, { recursive: true }));

const readYaml = async (path: string): Promise<Record<string, unknown>> =>
  parse(await readFile(join(folder, path), 'utf8')) as Record<string, unknown>;

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

async function render(values: Readonly<Record<string, unknown>>): Promise<Manifest[]> {
  const all = { ...(await readYaml('helm/baton/values.yaml')), ...values };
  const input = JSON.stringify({ chart, values: all, appVersion: packageJson.version });
  const { stdout } = await run(renderer, [], { input });
  const documents = parseAllDocuments(stdout);
  expect(documents.flatMap(({ errors }) => errors)).toEqual([]);
  return documents.map((document) => document.toJS() as Manifest | null).filter((each) => each !== null);
}

const given = { existingSecret: 'mine', publicUrl: 'http://192.0.2.1:6385' };

test('docker-compose takes the compose file, which names what must be given', async () => {
  const config = (env: Readonly<Record<string, string>>) =>
    run('docker-compose', ['--file', join(folder, 'compose.yaml'), 'config'], { env, okExitCodes: [0, 1] });
  const missing = await config({ DATABASE_PASSWORD: 'secret' });
  expect(missing.stderr).toContain('the address at which machines reach this host');
  const { exitCode, stdout } = await config({ DATABASE_PASSWORD: 'secret', BATON_HOST: '192.0.2.1' });
  expect(exitCode).toBe(0);
  const { services } = parse(stdout) as { services: { conductor: { image: string; environment: object } } };
  expect(services.conductor.image).toBe(`baton:${packageJson.version}`);
  const settings = Object.keys(services.conductor.environment);
  expect(settings.filter((name) => !(name in Environment.shape))).toEqual([]);
});

test('the chart is of this version, and its values are what its templates use', async () => {
  expect(await readYaml('helm/baton/Chart.yaml')).toMatchObject({
    version: packageJson.version,
    appVersion: packageJson.version,
  });
  for (const [values, message] of [
    [{ publicUrl: given.publicUrl }, 'existingSecret: the Secret'],
    [{ existingSecret: 'mine' }, 'publicUrl: the URL'],
  ] as const) {
    await expect(render(values)).rejects.toThrow(message);
  }
});

test('several conductors, with settings that exist, behind one service', async () => {
  const manifests = await render({
    ...given,
    settings: { BATON_AGENT_NETWORKS: '192.0.2.0/24' },
    networks: 'networks:\n  provisioning: { vlan: 100 }\n',
    nodeSelector: { rack: 'a' },
    tolerations: [{ operator: 'Exists' }],
  });
  expect(manifests.map(({ kind, metadata }) => [kind, metadata.name])).toEqual([
    ['PodDisruptionBudget', 'baton'],
    ['StatefulSet', 'baton'],
    ['ConfigMap', 'baton'],
    ['Service', 'baton'],
  ]);
  const conductors = manifests[1]?.spec as {
    readonly selector: { readonly matchLabels: object };
    readonly template: {
      readonly metadata: { readonly labels: object };
      readonly spec: {
        readonly containers: readonly {
          readonly image: string;
          readonly env: readonly { readonly name: string; readonly value?: string }[];
          readonly volumeMounts: readonly { readonly name: string }[];
        }[];
        readonly volumes: readonly { readonly name: string }[];
      };
    };
  };
  const { containers, volumes } = conductors.template.spec;
  const container = containers[0];
  expect(container?.image).toBe(`baton:${packageJson.version}`);
  const names = container?.env.map(({ name }) => name) ?? [];
  expect(names.filter((name) => !(name in Environment.shape))).toEqual([]);
  expect(names).toContain('BATON_NETWORKS_FILE');
  expect(container?.volumeMounts.map(({ name }) => name)).toEqual(volumes.map(({ name }) => name));
  expect(conductors.template.metadata.labels).toEqual(conductors.selector.matchLabels);
  expect(manifests[3]?.spec['selector']).toEqual(conductors.selector.matchLabels);
});

test('yamllint finds no fault in what is rendered', async () => {
  const file = join(directory, 'rendered.yaml');
  const input = JSON.stringify({
    chart,
    values: { ...(await readYaml('helm/baton/values.yaml')), ...given, replicas: 1 },
    appVersion: packageJson.version,
  });
  await writeFile(file, (await run(renderer, [], { input })).stdout);
  await run('yamllint', [
    '--strict',
    '-d',
    '{rules: {key-duplicates: enable, indentation: enable, colons: enable}}',
    file,
  ]);
  expect((await render({ ...given, replicas: 1 })).map(({ kind }) => kind)).toEqual(['StatefulSet', 'Service']);
});
