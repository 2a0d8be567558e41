import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { alerts } from '#conductor/kernel/metrics/dashboard.ts';
import { run } from '#shared/process/run.ts';

/** The alert rules, by Prometheus' own promtool: they are read, keep quiet in a healthy fleet, and fire when they should. */

const rules = new URL('../../docs/monitoring/baton.rules.yml', import.meta.url).pathname;

type Series = readonly (readonly [name: string, values: string])[];

const healthy: Series = [
  ['up{job="baton", instance="one"}', '1x120'],
  ['baton_database_up{instance="one"}', '1x120'],
  ['baton_nodes_lingering{provision_state="deploying", over_seconds="3600"}', '0x120'],
  ['baton_nodes_lingering{provision_state="clean hold", over_seconds="3600"}', '5x120'],
  ['baton_conductors_alive{instance="one"}', '2x120'],
  ['baton_conductors_known{instance="one"}', '2x120'],
  ['baton_bmc_errors_total{driver="ipmi"}', '0+1x120'],
  ['baton_bmc_call_duration_seconds_count{driver="ipmi"}', '0+100x120'],
  ['baton_sensor_health{instance="one", node="n1", sensor="Fan 1"}', '1x120'],
  ['baton_switch_ports_differing{instance="one"}', '0x120'],
  ['baton_webhook_oldest_pending_seconds{webhook="w"}', '10x120'],
  ['baton_nodes{instance="one", provision_state="clean failed"}', '1x120'],
];

/** Differences under which each alert fires. */
const faults: Readonly<Record<string, Series[number]>> = {
  BatonNodesStuck: ['baton_nodes_lingering{provision_state="deploying", over_seconds="3600"}', '1x120'],
  BatonConductorGone: ['baton_conductors_alive{instance="one"}', '1x120'],
  BatonDatabaseDown: ['baton_database_up{instance="one"}', '0x120'],
  BatonBmcErrors: ['baton_bmc_errors_total{driver="ipmi"}', '0+20x120'],
  BatonSensorCritical: ['baton_sensor_health{instance="one", node="n1", sensor="Fan 1"}', '2x120'],
  BatonSwitchPortsDiffer: ['baton_switch_ports_differing{instance="one"}', '1x120'],
  BatonWebhooksFailing: ['baton_webhook_oldest_pending_seconds{webhook="w"}', '1000x120'],
  BatonCleaningFails: ['baton_nodes{instance="one", provision_state="clean failed"}', '3x120'],
};

function scenario(fault: string | undefined) {
  const series = new Map(fault === undefined ? healthy : [...healthy, faults[fault] as Series[number]]);
  return {
    interval: '1m',
    input_series: [...series].map(([name, values]) => ({ series: name, values })),
    promql_expr_test: [
      {
        expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
        eval_time: '2h',
        exp_samples: fault === undefined ? [] : [{ labels: `{alertname="${fault}"}`, value: 1 }],
      },
    ],
  };
}

test('promtool takes the rules', async () => {
  expect((await run('promtool', ['check', 'rules', rules])).stdout).toContain(`SUCCESS: ${alerts.length} rules found`);
});

test('each alert fires at its fault alone, and none in a healthy fleet', async () => {
  expect(Object.keys(faults)).toEqual(alerts.map(({ name }) => name));
  const folder = await mkdtemp(join(tmpdir(), 'baton-rules-'));
  try {
    const file = join(folder, 'tests.yml');
    const tests = [undefined, ...Object.keys(faults)].map(scenario);
    await writeFile(file, stringify({ rule_files: [rules], evaluation_interval: '1m', tests }));
    expect((await run('promtool', ['test', 'rules', file])).stdout).toContain('SUCCESS');
  } finally {
    await rm(folder, { recursive: true });
  }
});
