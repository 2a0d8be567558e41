import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as kubernetes from '@kubernetes/client-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { Environment } from '#conductor/start/environment.ts';
import { run } from '#shared/process/run.ts';
import packageJson from '../../package.json' with { type: 'json' };

/** The compose file, by Debian's docker-compose, and the Helm chart, by helm, whose objects Kubernetes' client knows. */

const folder = join(import.meta.dirname, '../../docs/containers');
const chart = join(folder, 'helm/baton');
const helm = join(import.meta.dirname, '../../build/helm/helm');
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-containers-'));
});
afterAll(() => rm(directory, { recursive: true }));

const readYaml = async (path: string): Promise<Record<string, unknown>> =>
  parse(await readFile(join(folder, path), 'utf8')) as Record<string, unknown>;

/** A class of `@kubernetes/client-node`. */
interface Model {
  readonly getAttributeTypeMap?: () => readonly { readonly baseName: string; readonly type: string }[];
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

/** Calls helm with the chart and these values, its warnings being faults. */
async function callHelm(verb: readonly string[], values: Readonly<Record<string, unknown>>): Promise<string> {
  const file = join(directory, 'values.yaml');
  await writeFile(file, JSON.stringify(values));
  const { stdout } = await run(helm, [...verb, chart, '--values', file], { env: { HOME: directory } });
  return stdout;
}

async function render(values: Readonly<Record<string, unknown>>): Promise<Manifest[]> {
  const documents = parseAllDocuments(await callHelm(['template', 'baton'], values));
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
    ['ConfigMap', 'baton'],
    ['Service', 'baton'],
    ['StatefulSet', 'baton'],
  ]);
  const conductors = manifests[3]?.spec as {
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
  expect(manifests[2]?.spec['selector']).toEqual(conductors.selector.matchLabels);
});

test('helm finds no fault, nor yamllint in what it renders', async () => {
  await callHelm(['lint', '--strict'], given);
  const file = join(directory, 'rendered.yaml');
  await writeFile(file, await callHelm(['template', 'baton'], { ...given, replicas: 1 }));
  const rules = '{rules: {key-duplicates: enable, indentation: enable, colons: enable}}';
  await run('yamllint', ['--strict', '-d', rules, file]);
  expect((await render({ ...given, replicas: 1 })).map(({ kind }) => kind)).toEqual(['Service', 'StatefulSet']);
});

test('Kubernetes has every field that the chart sets', async () => {
  const manifests = await render({
    ...given,
    networks: 'networks: {}',
    hostNetwork: true,
    tolerations: [{ operator: 'Exists', key: 'baton' }],
  });
  expect(manifests.flatMap((manifest) => unknownFields(manifest, `V1${manifest.kind}`, manifest.kind))).toEqual([]);
  const wrong = { metadata: { lables: {} }, spec: { ports: [{ port: 1, targetport: 2 }] } };
  expect(unknownFields(wrong, 'V1Service', 'Service')).toEqual([
    'Service.metadata.lables',
    'Service.spec.ports.targetport',
  ]);
});

/** Fields that the model of Kubernetes' own client lacks, each with where it is. */
function unknownFields(value: unknown, model: string, place: string): string[] {
  const type = /^(?:Array<(.*)>|\{ \[key: string\]: (.*); \})$/.exec(model);
  const [items, values] = [type?.[1], type?.[2]];
  if (items !== undefined) return (value as unknown[]).flatMap((item) => unknownFields(item, items, place));
  const entries = Object.entries(typeof value === 'object' && value !== null ? value : {});
  if (values !== undefined) return entries.flatMap(([key, each]) => unknownFields(each, values, `${place}.${key}`));
  const known = (kubernetes as unknown as Readonly<Record<string, Model | undefined>>)[model]?.getAttributeTypeMap?.();
  if (!known) return [];
  return entries.flatMap(([key, each]) => {
    const field = known.find(({ baseName }) => baseName === key);
    return field ? unknownFields(each, field.type, `${place}.${key}`) : [`${place}.${key}`];
  });
}
