import { setTimeout as sleep } from 'node:timers/promises';
import { type Area, type Figure, round } from '#test/bench/area.ts';
import { loadAverage, residentMegabytes } from '#test/bench/process-figures.ts';
import { openDemo } from '#test/demo/open-demo.ts';
import { freePort } from '#test/support/free-port.ts';

const nodes = 1000;
/** Time in which the site's groups are deployed and memory is watched. */
const watchedMs = 180_000;

/**
 * `baton demo --nodes 1000`: how long until it is ready, how many nodes are seen by then, and the most memory that its
 * conductor takes until three minutes later, while groups of nodes are deployed.
 */
export const demoArea: Area = {
  name: 'demo',
  measure: async ({ say }) => {
    const began = performance.now();
    const demo = await openDemo({ nodes, port: await freePort(), say });
    try {
      const readySeconds = round((performance.now() - began) / 1000);
      const { url, pid } = demo.conductor;
      const seen = await countNodes(url);
      say(`${seen.all} nodes after ${readySeconds} s; ${await residentMegabytes(pid, 'VmRSS')} MB`);
      await sleep(watchedMs);
      const { active } = await countNodes(url);
      say(`${active} nodes are active; load ${await loadAverage()}`);
      // or nothing has been watched but waiting
      if (active === 0) throw new Error('no node of the demo has become active');
      return {
        ready_s: { value: readySeconds, unit: 's' },
        nodes_at_ready: { value: seen.all, unit: `of ${nodes}` },
        rss_mb: { value: await residentMegabytes(pid, 'VmHWM'), unit: 'MB' },
      } satisfies Record<string, Figure>;
    } finally {
      await demo.close();
    }
  },
};

async function countNodes(url: string): Promise<{ readonly all: number; readonly active: number }> {
  const answer = await fetch(`${url}/v1/nodes?limit=${nodes}&fields=provision_state`, {
    headers: { 'X-OpenStack-Ironic-API-Version': '1.96' },
  });
  const { nodes: rows } = (await answer.json()) as { nodes: readonly { readonly provision_state: string }[] };
  return { all: rows.length, active: rows.filter((row) => row.provision_state === 'active').length };
}
