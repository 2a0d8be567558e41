import { describe, expect, test } from 'vitest';
import { drawGroups, drawnGroups } from '#conductor/cli/sites/draw-groups.ts';
import { planSite } from '#conductor/sites/strategy/plan-site.ts';
import { seedNodes, seedStrategy } from '#conductor/sites/strategy/testing/seed-example.ts';

const plan = planSite({ nodes: new Map(seedNodes.map((node) => [node.name, node])), strategy: seedStrategy });

describe('drawGroups', () => {
  test('text: each group once, beneath what it comes after', () => {
    expect(drawGroups(drawnGroups(plan), 'text')).toBe(
      [
        'monitoring-nodes                 3 nodes',
        'ntp-node               critical  1 node',
        '└─ control-nodes       critical  3 nodes',
        '   ├─ compute-nodes-1            4 nodes',
        '   └─ compute-nodes-2            4 nodes',
        '',
      ].join('\n'),
    );
  });

  test('text: a group after several hangs from the last of them and names the others', () => {
    const groups = [
      { name: 'a', critical: false, depends_on: [] },
      { name: 'b', critical: false, depends_on: ['a'] },
      { name: 'c', critical: true, depends_on: ['a'] },
      { name: 'd', critical: false, depends_on: ['c', 'a', 'b'] },
      { name: 'e', critical: false, depends_on: ['b'] },
    ];
    expect(drawGroups(groups, 'text')).toBe(
      ['a', '├─ b', '│  └─ e', '└─ c     critical', '   └─ d            also after a, b', ''].join('\n'),
    );
  });

  test('Graphviz', () => {
    expect(drawGroups(drawnGroups(plan).slice(1, 3), 'dot')).toBe(
      [
        'digraph groups {',
        '  node [shape=box];',
        '  "ntp-node" [label="ntp-node\\n1 node", style=bold];',
        '  "control-nodes" [label="control-nodes\\n3 nodes", style=bold];',
        '  "ntp-node" -> "control-nodes";',
        '}',
        '',
      ].join('\n'),
    );
  });

  test('Mermaid', () => {
    const groups = [
      { name: 'the "first" #1<img onerror=x>&', critical: true, depends_on: [] },
      { name: 'end', critical: false, depends_on: ['the "first" #1<img onerror=x>&'], remark: '2 nodes' },
    ];
    expect(drawGroups(groups, 'mermaid')).toBe(
      [
        'flowchart TD',
        '  g0["the #quot;first#quot; #35;1#lt;img onerror=x#gt;#amp;"]:::critical',
        '  g1["end<br/>2 nodes"]',
        '  g0 --> g1',
        '  classDef critical stroke-width:3px',
        '',
      ].join('\n'),
    );
  });

  test('a long chain is not a staircase, and thousands are drawn', () => {
    const chain = Array.from({ length: 5000 }, (_, index) => ({
      name: `g${index}`,
      critical: false,
      depends_on: index === 0 ? [] : [`g${index - 1}`],
    }));
    const lines = drawGroups(chain, 'text').split('\n');
    expect(lines.slice(3, 7).map((line) => line.trimEnd())).toEqual([
      '      └─ g3',
      '         └─ g4',
      '            ↓ g5',
      '            ↓ g6',
    ]);
    expect(drawGroups(chain, 'mermaid').split('\n')).toHaveLength(10_002);
  });
});
