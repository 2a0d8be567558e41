import type { Strategy } from '#conductor/model/site/site-run.ts';
import type { SelectableNode } from '#conductor/sites/strategy/select-nodes.ts';

/** "Example Deployment Strategy Document" of seed 000, word for word. */
export const seedStrategy: Strategy = {
  name: 'deployment-strategy',
  max_parallel_groups: 1,
  groups: [
    {
      name: 'control-nodes',
      critical: true,
      depends_on: ['ntp-node'],
      selectors: [{ node_names: [], node_labels: [], node_tags: ['control'], rack_names: ['rack03'] }],
      success_criteria: { percent_successful_nodes: 90, minimum_successful_nodes: 3, maximum_failed_nodes: 1 },
    },
    {
      name: 'compute-nodes-1',
      critical: false,
      depends_on: ['control-nodes'],
      selectors: [{ node_names: [], node_labels: [], rack_names: ['rack01'], node_tags: ['compute'] }],
      success_criteria: { percent_successful_nodes: 50 },
    },
    {
      name: 'compute-nodes-2',
      critical: false,
      depends_on: ['control-nodes'],
      selectors: [{ node_names: [], node_labels: [], rack_names: ['rack02'], node_tags: ['compute'] }],
      success_criteria: { percent_successful_nodes: 50 },
    },
    {
      name: 'monitoring-nodes',
      critical: false,
      depends_on: [],
      selectors: [
        { node_names: [], node_labels: [], node_tags: ['monitoring'], rack_names: ['rack03', 'rack02', 'rack01'] },
      ],
    },
    {
      name: 'ntp-node',
      critical: true,
      depends_on: [],
      selectors: [{ node_names: ['ntp01'], node_labels: [], node_tags: [], rack_names: [] }],
      success_criteria: { minimum_successful_nodes: 1 },
    },
  ],
};

const node = (name: string, rack: string, ...tags: string[]): SelectableNode => ({ name, rack, tags, labels: {} });

/** Fourteen machines for it; one of the control nodes also monitors. */
export const seedNodes: readonly SelectableNode[] = [
  node('ntp01', 'rack03', 'ntp'),
  node('control01', 'rack03', 'control'),
  node('control02', 'rack03', 'control'),
  node('control03', 'rack03', 'control', 'monitoring'),
  node('monitor01', 'rack01', 'monitoring'),
  node('monitor02', 'rack02', 'monitoring'),
  node('compute11', 'rack01', 'compute'),
  node('compute12', 'rack01', 'compute'),
  node('compute13', 'rack01', 'compute'),
  node('compute14', 'rack01', 'compute'),
  node('compute21', 'rack02', 'compute'),
  node('compute22', 'rack02', 'compute'),
  node('compute23', 'rack02', 'compute'),
  node('compute24', 'rack02', 'compute'),
];
