import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { insertFlow } from '#conductor/flows/log/flow-store.ts';
import type { RuleName } from '#conductor/flows/request/admit.ts';
import type { Finding } from '#conductor/flows/request/read-admission.ts';
import type { NodeInsert } from '#conductor/kernel/db/schema/node.ts';
import { nodeFaults } from '#conductor/model/node-words.ts';
import { type ProvisionState, provisionTransitions } from '#conductor/model/provision-states.ts';
import { claimLease } from '#conductor/nodes/node-lease.ts';
import { createMemoryMachine } from '#test/simulators/redfish/machine.ts';
import { type RedfishSimulator, startRedfishSimulator } from '#test/simulators/redfish/simulator.ts';
import { type AskedNode, addAskedNode } from '#test/support/asked-node.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

/** A plan is refused where its request is, in the same words; `validate` gives the same reasons by interface. */

let api: TestApi;
let bmc: RedfishSimulator;
let node: AskedNode;
beforeAll(async () => {
  api = await openTestApi({ settings: { BATON_IMAGE_URL_ALLOW: '192.0.2.0/24' } });
  bmc = await startRedfishSimulator({ machine: createMemoryMachine(), username: 'admin', password: 'secret' });
});
afterAll(async () => {
  await bmc.close();
  await api.close();
});

const image = {
  image_source: 'http://192.0.2.1/demo.raw',
  image_os_hash_algo: 'sha256',
  image_os_hash_value: 'a'.repeat(64),
};
const ready = {
  instanceInfo: image,
  provisionState: 'available',
  targetProvisionState: null,
  fault: null,
  maintenance: false,
} satisfies Partial<NodeInsert>;
beforeEach(async () => {
  await api.reset();
  node = await addAskedNode(api);
  await node.set(ready);
});

const step = (name: string, args = {}, more = {}) => ({ interface: 'deploy', step: name, args, ...more });
const inject = (content: string) => step('inject_files', { files: [{ path: '/etc/motd', content }] }, { priority: 50 });

interface Case {
  readonly set?: Partial<NodeInsert>;
  readonly before?: () => Promise<unknown>;
  /** Target of a plan and of `states/provision`; default: active. */
  readonly target?: string;
  readonly body?: object;
  readonly status: number;
  readonly fault: RegExp;
  /** Interface of which `validate` says the same. */
  readonly validate?: string;
}

/** Given by site actions alone, whose requests no plan is asked for. */
type OfSites = 'unowned' | 'action' | 'seen';
type Rule = Exclude<RuleName, 'found' | OfSites> | Finding | 'planning';

const toRedfish = async () => {
  const { address } = bmc;
  const info = { redfish_address: address, redfish_username: 'admin', redfish_password: 'secret' };
  const system = { ...info, redfish_system_id: '/redfish/v1/Systems/1' };
  const { fault } = await api.call('PATCH', '/v1/nodes/n1?reset_interfaces=true', [
    { op: 'add', path: '/driver', value: 'redfish' },
    { op: 'add', path: '/driver_info', value: system },
  ]);
  expect(fault).toBeUndefined();
};

/** Requests that each rule refuses: complete by type. */
const refused: Readonly<Record<Rule, readonly Case[]>> = {
  wipeVerb: [
    { body: { wipe: {} }, status: 400, fault: /^wipe: it is only possible with target deleted, undeploy, provide/ },
  ],
  restored: [{ set: { fault: nodeFaults.restored }, status: 400, fault: /was restored from a dump/ }],
  locked: [
    {
      set: { provisionState: 'verifying' },
      before: () => claimLease(api.context.db, node.uuid, { holder: 'other-host', leaseMs: 60_000 }),
      target: 'provide',
      status: 409,
      fault: /is locked by host other-host/,
    },
  ],
  state: [
    { set: { provisionState: 'manageable' }, status: 400, fault: /'active' can not be performed on node/ },
    { set: { provisionState: 'active' }, status: 400, fault: /'active' can not be performed on node/ },
    { target: 'provide', status: 400, fault: /'provide' can not be performed on node/ },
  ],
  owedWipe: [
    {
      set: { owedWipe: { preserveLocalStorage: false } },
      status: 409,
      fault: /^'active' is not possible: node .* owes a wipe of all its disks/,
    },
  ],
  protected: [
    {
      set: { provisionState: 'active', protected: true, protectedReason: 'production' },
      target: 'rebuild',
      status: 403,
      fault: /is protected and cannot be undeployed, rebuilt or deleted: production/,
    },
  ],
  preserving: [
    {
      set: { provisionState: 'manageable', owedWipe: { preserveLocalStorage: false } },
      target: 'provide',
      body: { wipe: { preserve_local_storage: true } },
      status: 409,
      fault: /local storage can not be preserved any more/,
    },
  ],
  retired: [
    {
      set: { provisionState: 'manageable', retired: true },
      target: 'provide',
      status: 400,
      fault: /The provide operation can't be performed on node .* because it is retired/,
    },
  ],
  maintenance: [{ set: { maintenance: true }, status: 400, fault: /is in maintenance: 'active' is not possible/ }],
  sealedArguments: [
    {
      body: { deploy_steps: [step('write_image', { note: 'sealed:v1:x' }, { priority: 80 })] },
      status: 400,
      fault: /deploy\.write_image\.note: a value must not begin with 'sealed:'/,
    },
  ],
  conductor: [{ set: { conductorGroup: 'elsewhere' }, status: 503, fault: /No conductor service registered/ }],
  interfaces: [
    {
      set: { instanceInfo: {} },
      status: 400,
      fault: /failed validation\. deploy: instance_info\.image_source must be an http/,
      validate: 'deploy',
    },
    {
      set: { instanceInfo: { ...image, image_disk_format: 'vhd' } },
      status: 400,
      fault: /deploy: instance_info\.image_disk_format "vhd" is not supported/,
      validate: 'deploy',
    },
    {
      set: { instanceInfo: { image_source: image.image_source } },
      status: 400,
      fault: /deploy: instance_info needs image_os_hash_algo/,
      validate: 'deploy',
    },
    {
      set: { instanceInfo: { ...image, image_source: 'http://127.0.0.1/demo.raw' } },
      status: 400,
      fault: /deploy: instance_info\.image_source/,
      validate: 'deploy',
    },
    {
      before: () => api.context.db.execute('delete from ports'),
      status: 400,
      fault: /boot: node .* has no port with pxe_enabled: create one/,
      validate: 'boot',
    },
    {
      before: () => api.context.db.execute("update nodes set driver = 'redfish', driver_info = '{}'"),
      status: 400,
      fault: /power: .*redfish_address/,
      validate: 'power',
    },
  ],
  configDrive: [
    {
      set: { instanceInfo: { ...image, configdrive: 7 } },
      status: 400,
      fault: /^instance_info\.configdrive: it must be text or an object/,
    },
    {
      set: { instanceInfo: { ...image, configdrive: { user_data: 7 } } },
      status: 400,
      fault: /user_data/,
    },
  ],
  stepUrls: [
    { body: { deploy_steps: [inject('http://127.0.0.1/x')] }, status: 403, fault: /inject_files: files\[0\]/ },
  ],
  firmware: [
    {
      before: toRedfish,
      body: {
        deploy_steps: [
          {
            interface: 'firmware',
            step: 'update',
            args: { settings: [{ component: 'bmcc', url: 'http://192.0.2.1/x.bin' }] },
            priority: 150,
          },
        ],
      },
      status: 400,
      fault: /^firmware\.update: settings: update bmcc at .*it has bios, bmc/,
    },
  ],
  openFlow: [
    {
      before: () =>
        api.context.db.transaction((tx) => insertFlow(tx, { nodeUuid: node.uuid, kind: 'leave_cluster', steps: [] })),
      status: 409,
      fault: /its leave_cluster is under way/,
    },
  ],
  planning: [
    {
      set: { instanceInfo: { ...image, traits: ['CUSTOM_FOREIGN'] } },
      status: 400,
      fault: /^instance_info\.traits: the node does not have CUSTOM_FOREIGN/,
      validate: 'deploy',
    },
    {
      set: { instanceInfo: { ...image, traits: 'CUSTOM_X' } },
      status: 400,
      fault: /^instance_info\.traits: it must be a list of traits/,
      validate: 'deploy',
    },
    {
      body: { deploy_steps: [step('boot_instance', {}, { priority: 0 })] },
      status: 400,
      fault: /is the conductor's own step/,
    },
    {
      body: {
        deploy_steps: [{ interface: 'bios', step: 'apply_configuration', args: { settings: 7 }, priority: 150 }],
      },
      status: 400,
      fault: /bios\.apply_configuration/,
    },
    {
      target: 'clean',
      set: { provisionState: 'manageable' },
      body: { clean_steps: [{ interface: 'bios', step: 'apply_configuration', args: { settings: 7 } }] },
      status: 400,
      fault: /bios\.apply_configuration/,
    },
    { body: { disable_ramdisk: true }, status: 400, fault: /^disable_ramdisk: it is only possible with target clean/ },
    { body: { clean_steps: [step('x')] }, status: 400, fault: /^clean_steps: it is only possible with target clean/ },
    { target: 'clean', set: { provisionState: 'manageable' }, status: 400, fault: /^clean_steps: it must be given/ },
  ],
};

const latest = '1.96';
const validate = async () =>
  (await api.call('GET', '/v1/nodes/n1/validate', undefined, latest)).body as Record<
    string,
    { readonly result: boolean; readonly reason?: string }
  >;
/** Asks for plan and request; a plan's refusal stands beside it, or is the answer where no plan can be made. */
async function judgements({ target = 'active', body = {} }: Pick<Case, 'target' | 'body'>) {
  const plan = await api.call('POST', '/v1/nodes/n1/plan', { target, ...body }, latest);
  const request = await node.ask(target, body);
  const beside = plan.body['refused'] as { code: string; message: string } | null | undefined;
  expect(plan.status === 200 ? beside : null).not.toBeUndefined();
  return {
    plan: plan.status === 200 ? beside?.message : plan.fault,
    request,
  };
}

describe.each(Object.entries(refused))('a request that is refused by %s', (_, cases) => {
  test.each(cases.map((each) => [String(each.fault), each] as const))('with %s', async (_title, each) => {
    if (each.set) await node.set(each.set);
    await each.before?.();
    const state = await node.state();
    const validation = await validate();
    const { plan, request } = await judgements(each);
    expect(request).toMatchObject({ status: each.status, fault: expect.stringMatching(each.fault) as unknown });
    expect(plan).toBe(request.fault);
    expect(await node.state()).toBe(state);
    if (each.validate === undefined) return;
    const reason = String(validation[each.validate]?.reason);
    expect(validation[each.validate]?.result).toBe(false);
    expect(request.fault).toContain(reason);
  });
});

/** Verbs of which there are plans, in each state there is. */
const targets: readonly (readonly [string, object])[] = [
  ['active', {}],
  ['rebuild', {}],
  ['provide', {}],
  ['inspect', {}],
  ['clean', { clean_steps: [{ interface: 'bios', step: 'factory_reset', args: {} }], disable_ramdisk: true }],
  ['service', { service_steps: [{ interface: 'bios', step: 'factory_reset', args: {} }], disable_ramdisk: true }],
];
const states = Object.keys(provisionTransitions) as ProvisionState[];
const marks: readonly (readonly [string, Partial<NodeInsert>])[] = [
  ['no mark', {}],
  ['maintenance', { maintenance: true }],
  ['protection', { protected: true }],
  ['retirement', { retired: true }],
  ['an owed wipe', { owedWipe: { preserveLocalStorage: true } }],
  ['a restore behind it', { fault: nodeFaults.restored }],
];

test.each(marks)(
  'in every state a node with %s: what the plan accepts the request does, and no more',
  async (_, mark) => {
    const seen = { accepted: 0, refused: 0 };
    for (const provisionState of states) {
      for (const [target, body] of targets) {
        await api.context.db.execute('delete from flows');
        await node.set({ ...ready, ...mark, provisionState });
        const { plan, request } = await judgements({ target, body });
        expect([provisionState, target, plan]).toEqual([provisionState, target, request.fault]);
        expect(plan === undefined).toBe(request.status === 202);
        seen[plan === undefined ? 'accepted' : 'refused'] += 1;
      }
    }
    expect(seen.accepted + seen.refused).toBe(states.length * targets.length);
    expect(seen.refused).toBeGreaterThan(states.length);
  },
);

test('a plan of what is accepted says so, and the wipe after a release is planned while the instance runs', async () => {
  const plan = async (body: object) => (await api.call('POST', '/v1/nodes/n1/plan', body)).body;
  expect(await plan({})).toMatchObject({ kind: 'deploy', refused: null });
  await node.set({ provisionState: 'active' });
  expect(await plan({ target: 'provide', wipe: {} })).toMatchObject({ kind: 'wipe', refused: null });
  expect(await plan({ target: 'provide' })).toMatchObject({ refused: { code: 'invalid_argument' } });
  await node.set({ protected: true });
  expect(await plan({ target: 'provide', wipe: {} })).toMatchObject({ refused: { code: 'invalid_argument' } });
});

test('cleaning that is switched off is said to do nothing', async () => {
  await node.set({ provisionState: 'manageable', automatedClean: false });
  const { body } = await api.call('POST', '/v1/nodes/n1/plan', { target: 'provide' });
  expect(body['warnings']).toContain(
    'Automated cleaning is switched off: no step of this plan is run, and the node becomes available at once.',
  );
  expect(await node.ask('provide')).toMatchObject({ status: 202 });
  expect(await node.state()).toBe('available');
});
