import type { SiteRun } from '#conductor/model/site/site-run.ts';

/** A group as it is drawn, in an order that the dependencies allow. */
export interface DrawnGroup {
  readonly name: string;
  readonly critical: boolean;
  readonly depends_on: readonly string[];
  /** Remark beside the name: `3 nodes`. */
  readonly remark?: string;
}

export const drawings = ['text', 'dot', 'mermaid'] as const;
export type Drawing = (typeof drawings)[number];

/** The dependency graph of groups as text. Pure. */
export function drawGroups(groups: readonly DrawnGroup[], drawing: Drawing): string {
  if (drawing === 'dot') return drawDot(groups);
  return drawing === 'mermaid' ? drawMermaid(groups) : drawTree(groups);
}

export function drawnGroups(run: Pick<SiteRun, 'groups'>): DrawnGroup[] {
  return run.groups.map(({ definition, members }) => ({
    name: definition.name,
    critical: definition.critical,
    depends_on: definition.depends_on,
    remark: countNodes(members.length),
  }));
}

export function countNodes(count: number): string {
  return count === 1 ? '1 node' : `${count} nodes`;
}

/** From this depth on a group that alone follows another stands beneath it: one rack after another are not a staircase. */
const chainDepth = 4;

export interface TreeLine<Group> {
  /** `│  └─ `; `↓ ` = after the line above. */
  readonly branch: string;
  readonly group: Group;
  /** Groups that it comes after besides the group that it hangs from. */
  readonly alsoAfter: readonly string[];
}

/**
 * The graph as a tree with each group once, beneath the last of those that it depends on: it can't begin before that.
 * @param groups in an order that the dependencies allow
 */
export function treeOfGroups<Group extends Pick<DrawnGroup, 'name' | 'depends_on'>>(
  groups: readonly Group[],
): TreeLine<Group>[] {
  const places = new Map(groups.map(({ name }, index) => [name, index]));
  const beneath = Map.groupBy(groups, ({ depends_on: dependencies }) =>
    Math.max(-1, ...dependencies.map((name) => places.get(name) ?? -1)),
  );
  const lines: TreeLine<Group>[] = [];
  // a stack: a chain of thousands of groups is no reason to fail
  const open = (beneath.get(-1) ?? []).toReversed().map((group) => ({ group, branch: '', inside: '', depth: 0 }));
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { group, branch, inside, depth } = next;
    const place = places.get(group.name) ?? -1;
    const parent = Math.max(-1, ...group.depends_on.map((name) => places.get(name) ?? -1));
    lines.push({ branch, group, alsoAfter: group.depends_on.filter((name) => places.get(name) !== parent) });
    const children = beneath.get(place) ?? [];
    const isChain = children.length === 1 && depth >= chainDepth;
    const drawn = children.map((child, index) => {
      if (isChain) return { group: child, branch: `${inside}↓ `, inside, depth };
      const isLast = index === children.length - 1;
      const [own, below] = isLast ? ['└─ ', '   '] : ['├─ ', '│  '];
      return { group: child, branch: `${inside}${own}`, inside: `${inside}${below}`, depth: depth + 1 };
    });
    open.push(...drawn.toReversed());
  }
  return lines;
}

function drawTree(groups: readonly DrawnGroup[]): string {
  const lines = treeOfGroups(groups);
  const width = Math.max(0, ...lines.map(({ branch, group }) => branch.length + group.name.length));
  return lines
    .map(({ branch, group, alsoAfter }) => {
      const name = `${branch}${group.name}`.padEnd(width);
      const after = alsoAfter.length === 0 ? [] : [`also after ${alsoAfter.join(', ')}`];
      const remarks = [...(group.remark === undefined ? [] : [group.remark]), ...after].join(', ');
      return `${`${name}  ${group.critical ? 'critical' : '        '}  ${remarks}`.trimEnd()}\n`;
    })
    .join('');
}

function drawDot(groups: readonly DrawnGroup[]): string {
  const quote = (text: string) => `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
  const nodes = groups.map(({ name, critical, remark }) => {
    const label = remark === undefined ? quote(name) : quote(name).replace(/"$/, `\\n${remark}"`);
    return `  ${quote(name)} [label=${label}${critical ? ', style=bold' : ''}];\n`;
  });
  const edges = groups.flatMap(({ name, depends_on: dependencies }) =>
    dependencies.map((dependency) => `  ${quote(dependency)} -> ${quote(name)};\n`),
  );
  return `digraph groups {\n  node [shape=box];\n${[...nodes, ...edges].join('')}}\n`;
}

const mermaidMarks: Readonly<Record<string, string>> = {
  '#': '#35;',
  '"': '#quot;',
  '<': '#lt;',
  '>': '#gt;',
  '&': '#amp;',
};

/** Mermaid's own names can't hold any text, and its labels are HTML; `#quot;` is its way to write a quotation mark. */
function drawMermaid(groups: readonly DrawnGroup[]): string {
  const places = new Map(groups.map(({ name }, index) => [name, `g${index}`]));
  const escape = (text: string) => text.replaceAll(/[#"<>&]/g, (mark) => mermaidMarks[mark] ?? mark);
  const nodes = groups.map(({ name, critical, remark }, index) => {
    const label = remark === undefined ? escape(name) : `${escape(name)}<br/>${escape(remark)}`;
    return `  g${index}["${label}"]${critical ? ':::critical' : ''}\n`;
  });
  const edges = groups.flatMap(({ name, depends_on: dependencies }) =>
    dependencies.map((dependency) => `  ${places.get(dependency) ?? ''} --> ${places.get(name) ?? ''}\n`),
  );
  return `flowchart TD\n${[...nodes, ...edges].join('')}  classDef critical stroke-width:3px\n`;
}
