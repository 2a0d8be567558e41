import { describe, expect, test } from 'vitest';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { nodeFieldVersions } from '#conductor/model/node-words.ts';
import { apiTime, type NodeSurroundings, viewNode } from '#conductor/nodes/node-view.ts';
import { noSurroundings } from '#conductor/nodes/views/node-surroundings.ts';

const row: NodeRow = {
  id: 1,
  uuid: '8c1bf632-bcdf-4be1-a799-94f7a1e730ac',
  name: 'n1',
  driver: 'redfish',
  driverInfo: { redfish_address: 'https://bmc', redfish_password: 'hunter2' },
  properties: { inject_files: [{ path: '/etc/key', content: '******' }] },
  extra: {},
  instanceInfo: { image_source: 'http://x', image_pull_secret: 'hunter2', configdrive: 'hunter2' },
  instanceUuid: null,
  allocationUuid: null,
  chassisUuid: null,
  instanceName: null,
  health: null,
  resourceClass: null,
  networkInterface: 'switchport',
  deployInterface: null,
  interfaces: { raid: 'redfish' },
  conductorGroup: '',
  owner: null,
  lessee: null,
  description: null,
  shard: null,
  automatedClean: null,
  protected: false,
  protectedReason: null,
  retired: false,
  retiredReason: null,
  disablePowerOff: false,
  networkData: {},
  targetRaidConfig: {},
  osDisk: null,
  sparedDisks: null,
  instanceCameUp: false,
  owedWipe: null,
  powerHold: null,
  raidConfig: {},
  bootMode: null,
  targetBootMode: null,
  targetSecureBoot: null,
  renewedBootDevice: null,
  consoleEnabled: false,
  secureBoot: null,
  provisionState: 'wait call-back',
  targetProvisionState: 'active',
  provisionUpdatedAt: new Date('2026-11-21T07:35:42.609Z'),
  powerState: 'power on',
  targetPowerState: null,
  powerTimeout: null,
  powerFailures: 0,
  lastError: null,
  maintenance: false,
  maintenanceReason: null,
  fault: null,
  inspectionStartedAt: null,
  inspectionFinishedAt: null,
  createdAt: new Date('2026-11-21T07:35:42.609Z'),
  updatedAt: null,
};

const view = (version: number, surroundings: NodeSurroundings = noSurroundings) =>
  viewNode(row, surroundings, { version, conductorOf: () => 'c1' });

describe('viewNode', () => {
  test('shows exactly the fields of the version', () => {
    for (const version of [1, 21, 36, 78, 96]) {
      const expected = Object.entries(nodeFieldVersions).filter(([, since]) => since <= version);
      expect(Object.keys(view(version))).toEqual(expected.map(([name]) => name));
    }
    expect(view(96)).not.toHaveProperty('instance_name');
    expect(Object.values(view(104))).not.toContain(undefined);
  });

  test.each([
    ['9999-01-01T00:00:00.000Z', { baton_power_hold: { until: '9999-01-01T00:00:00.000Z', reason: 'x may run' } }],
    ['1999-01-01T00:00:00.000Z', {}],
  ])('shows why power is kept, until %s', (until, shown) => {
    const held = { ...row, powerHold: { step: 's', until, why: 'x may run' } };
    const { driver_internal_info: info } = viewNode(held, noSurroundings, { version: 96, conductorOf: () => 'c1' });
    expect(info).toEqual(shown);
  });

  test('shows no secret', () => {
    expect(JSON.stringify(view(96))).not.toContain('hunter2');
    expect(view(96)).toMatchObject({
      driver_info: { redfish_address: 'https://bmc', redfish_password: '******' },
      instance_info: { image_source: 'http://x', configdrive: '******' },
      properties: { inject_files: [{ path: '/etc/key', content: '******' }] },
    });
  });

  test('puts the current step where its kind has it', () => {
    const current = { interface: 'deploy', step: 'write_image', args: {}, priority: 80 };
    const deploying = { ...noSurroundings, currentStep: { ...current, kind: 'deploy' as const } };
    expect(view(96, deploying)).toMatchObject({ deploy_step: current, clean_step: {} });
    const cleaning = { ...noSurroundings, currentStep: { ...current, kind: 'clean' as const } };
    expect(view(96, cleaning)).toMatchObject({ deploy_step: {}, clean_step: current });
  });

  test('has the steps of a flow and the place of the current one where Ironic has them, without secrets', () => {
    const step = (name: string, state: 'succeeded' | 'waiting' | 'pending', kind: 'deploy' | 'manual_clean') => ({
      kind,
      interface: 'deploy',
      step: name,
      args: name === 'b' ? { password: 'secret' } : {},
      priority: 80,
      state,
    });
    const shown = (name: string, args = {}) => ({ interface: 'deploy', step: name, args, priority: 80 });
    const infoOf = (kind: 'deploy' | 'manual_clean') =>
      view(96, {
        ...noSurroundings,
        flowSteps: [step('a', 'succeeded', kind), step('b', 'waiting', kind), step('c', 'pending', kind)],
      })['driver_internal_info'];
    const steps = [shown('a'), shown('b', { password: '******' }), shown('c')];
    expect(infoOf('deploy')).toEqual({ deploy_steps: steps, deploy_step_index: 1 });
    expect(infoOf('manual_clean')).toEqual({ clean_steps: steps, clean_step_index: 1 });
  });

  test('tells of a wipe that is owed', () => {
    const owing = viewNode({ ...row, owedWipe: { preserveLocalStorage: true } }, noSurroundings, {
      version: 96,
      conductorOf: () => 'c1',
    });
    expect(owing['driver_internal_info']).toEqual({ baton_owed_wipe: { preserve_local_storage: true } });
  });

  test('names interfaces as Ironic does', () => {
    expect(view(96)).toMatchObject({
      power_interface: 'redfish',
      management_interface: 'redfish',
      network_interface: 'switchport',
      raid_interface: 'redfish',
      rescue_interface: 'agent',
      bios_interface: 'redfish',
    });
  });
});

test('times have microseconds and an offset', () => {
  expect(apiTime(row.createdAt)).toBe('2026-11-21T07:35:42.609000+00:00');
  expect(apiTime(null)).toBeNull();
});
