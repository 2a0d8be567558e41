import type { GroupDefinition } from '#conductor/model/site/site-run.ts';
import { newRehearseApart } from '#conductor/sites/rehearsal/apart/rehearse-apart.ts';
import type { CourseFlow, NodeCourse } from '#conductor/sites/rehearsal/engine/course.ts';
import type { RehearsalOrder } from '#conductor/sites/rehearsal/engine/rehearse.ts';
import { planSite } from '#conductor/sites/strategy/plan-site.ts';
import { type Area, percentile, round } from '#test/bench/area.ts';
import { createDraw } from '#test/support/draw.ts';

const groupCount = 20;
const beatMs = 20;

/**
 * Rehearsals of 1,000 nodes in 20 groups that depend on each other, on their thread, its start included: once, and 100
 * times. Meanwhile the main thread has a beat each 20 ms: how late those are is `late_ms_p99`. `rss_mb` is the most of the
 * whole process, which does nothing else.
 */
export const rehearseArea: Area = {
  name: 'rehearse',
  measure: async ({ say }) => {
    const late: number[] = [];
    let [dueAt, rss] = [performance.now() + beatMs, 0];
    const beat = setInterval(() => {
      late.push(Math.max(0, performance.now() - dueAt));
      dueAt = performance.now() + beatMs;
      rss = Math.max(rss, process.memoryUsage.rss());
    }, beatMs);
    const rehearse = newRehearseApart({ timeoutMs: 600_000 });
    const secondsOf = async (order: RehearsalOrder): Promise<number> => {
      const startedAt = performance.now();
      const { groups, succeeded } = await rehearse(order);
      if (groups.size !== groupCount || succeeded === 0)
        throw new Error(`${groups.size} groups, ${succeeded} runs succeeded`);
      const seconds = (performance.now() - startedAt) / 1000;
      say(`${order.runs} runs of ${order.courses.size} nodes: ${round(seconds, 2)} s`);
      return seconds;
    };
    try {
      const [once, often] = [await secondsOf(orderOf(1000, 1)), await secondsOf(orderOf(1000, 100))];
      return {
        run_1000_s: { value: round(once, 2), unit: 's' },
        runs_100_s: { value: round(often, 1), unit: 's' },
        late_ms_p99: { value: round(percentile(late, 0.99)), unit: 'ms' },
        rss_mb: { value: Math.round(rss / 2 ** 20), unit: 'MB' },
      };
    } finally {
      clearInterval(beat);
    }
  },
};

/** Each group stands behind one of those before it, and begins ten of its nodes at a time. */
function orderOf(nodeCount: number, runs: number): RehearsalOrder {
  const draw = createDraw(1);
  const names = Array.from({ length: nodeCount }, (_, index) => `node-${index}`);
  const groups = Array.from({ length: groupCount }, (_, index): GroupDefinition => {
    const members = names.filter((_name, nth) => nth % groupCount === index);
    return {
      name: `group-${index}`,
      critical: index % 2 === 0,
      depends_on: index < 4 ? [] : [`group-${index - 4}`],
      selectors: [{ node_names: members }],
      success_criteria: { percent_successful_nodes: 50 },
      ...(index % 2 === 0 ? { max_parallel_nodes: 10 } : {}),
    };
  });
  const start = planSite({
    nodes: new Map(names.map((name) => [name, { name, tags: [], labels: {} }])),
    strategy: { name: 'bench', groups, max_parallel_groups: 4 },
  });
  const flow = (kind: CourseFlow['kind']): CourseFlow => ({
    kind,
    steps: Array.from({ length: 8 }, (_, index) => ({
      title: `${kind}.step_${index}`,
      succeeded: Array.from({ length: 200 }, () => 1 + draw.number(60)),
      failed: Array.from({ length: draw.number(2) }, () => 1 + draw.number(60)),
      isOfModel: true,
    })),
  });
  const [verify, inspect, clean, deploy] = [flow('verify'), flow('inspect'), flow('clean'), flow('deploy')];
  const course: NodeCourse = {
    prepare: { flows: [verify, inspect, clean], end: { state: 'done' } },
    deploy: { flows: [deploy], end: { state: 'done' } },
  };
  return {
    scene: {
      start,
      timeouts: { prepare: 100_000, deploy: 100_000 },
      beginsAt: 0,
      racks: new Map(names.map((name, index) => [name, `rack-${index % 25}`])),
    },
    courses: new Map(names.map((name) => [name, course])),
    failures: { nodes: new Map(), share: 0 },
    runs,
    seed: 1,
  };
}
