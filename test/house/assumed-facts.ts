import { type Node, parseSync } from 'oxc-parser';

/** How a source may take for a fact what it has not read. */
export type Shape = 'word for unknown' | 'nothing for unknown' | 'last resort' | 'first of many';

export interface AssumedFact {
  readonly shape: Shape;
  /** `size ?? 0` */
  readonly code: string;
}

/** One place in a source: the node, what it stands in from the nearest outwards, and how the text of any node is got. */
interface Place {
  readonly node: Node;
  readonly within: readonly Node[];
  readonly textOf: (node: Node) => string;
}

const shapes: Readonly<Record<Shape, (place: Place) => boolean>> = {
  'word for unknown': (place) => {
    const found = substitute(place.node);
    return found !== undefined && isWord(found.value) && !isOwn(place, found);
  },
  'nothing for unknown': ({ node, textOf }) => {
    const found = substitute(node);
    // a group of a pattern that has matched
    if (found === undefined || (node.type === 'AssignmentPattern' && textOf(found.value) === "''")) return false;
    return isNothing(found.value) && isOutside(textOf(found.of));
  },
  'last resort': ({ node, within }) => {
    if (node.type !== 'ReturnStatement' || !node.argument || !isWord(node.argument)) return false;
    if (['boolean', 'number'].includes(typeof Reflect.get(node.argument, 'value'))) return false;
    const [block, owner] = within;
    const isLast = block?.type === 'BlockStatement' && block.body.length > 1 && block.body.at(-1) === node;
    return isLast && owner !== undefined && isFunction(owner);
  },
  'first of many': (place) => {
    const list = listOfFirst(place.node);
    return list !== undefined && !isCounted(list, place);
  },
};

interface Substitute {
  readonly value: Node;
  /** The node of which something is missing. */
  readonly of: Node;
}

/** The value that stands in for one that is missing. */
function substitute(node: Node): Substitute | undefined {
  switch (node.type) {
    case 'LogicalExpression':
      return node.operator === '&&' ? undefined : { value: node.right, of: node.left };
    case 'AssignmentExpression':
      return ['??=', '||='].includes(node.operator) ? { value: node.right, of: node.left } : undefined;
    case 'AssignmentPattern':
      return { value: node.right, of: node.left };
    case 'ConditionalExpression': {
      const { test, consequent, alternate } = node;
      if (test.type !== 'BinaryExpression' || !isMissing(test.right)) return undefined;
      return { value: /^===?$/.test(test.operator) ? consequent : alternate, of: test.left };
    }
    default:
      return undefined;
  }
}

function isMissing(node: Node): boolean {
  return (node.type === 'Identifier' && node.name === 'undefined') || (node.type === 'Literal' && node.value === null);
}

/** Words that claim nothing. */
const honest = new Set<unknown>(['', 'unknown', 'other', 'failed', 'unreachable']);

/** Constants that claim something as a word does: a port that is in no network. */
const claims: ReadonlySet<string> = new Set(['isolated']);

function isWord(node: Node): boolean {
  if (node.type === 'UnaryExpression') return isWord(node.argument);
  if (node.type === 'Identifier') return claims.has(node.name);
  if (node.type === 'ObjectExpression') return node.properties.some(isClaim);
  return node.type === 'Literal' && node.value !== null && !('regex' in node) && !honest.has(node.value);
}

/** `{ vlans: isolated }` */
function isClaim(property: Node): boolean {
  return property.type === 'Property' && property.value.type === 'Identifier' && claims.has(property.value.name);
}

function isNothing(node: Node): boolean {
  return (
    (node.type === 'ArrayExpression' && node.elements.length === 0) ||
    (node.type === 'ObjectExpression' && node.properties.length === 0) ||
    (node.type === 'NewExpression' && node.arguments.length === 0) ||
    (node.type === 'Literal' && node.value === '')
  );
}

/** Left out by an operator or a caller, a count that begins, a byte of many, words of a message: nothing that was read. */
function isOwn({ node, within, textOf }: Place, { value, of }: Substitute): boolean {
  if (node.type === 'AssignmentPattern') {
    const holder = within.find(({ type }) => !['Property', 'ObjectPattern', 'ArrayPattern'].includes(type));
    return holder !== undefined && isFunction(holder);
  }
  if (within.some(({ type }) => type === 'TemplateLiteral')) return true;
  if (/^['"](?:[/{]|.* )/.test(textOf(value)) && within[0]?.type !== 'BinaryExpression') return true;
  if (node.type === 'ConditionalExpression' && node.alternate.type === 'TemplateLiteral') return true;
  const code = textOf(of).replaceAll(/\s+/g, ' ');
  return own.test(code) || (textOf(value) === '0' && /\.get\(.*\)$|\[[^'\]]+\](?:\?\.\w+)?$/.test(code));
}

const own =
  /\b(?:options|settings|access|wanted|args|limits|info|file|task|config|init|form)\b\??\.|^httpStatusOf\(|\.length$|\.join\(.*\)$|\bport\)?$/;

/** Pattern of calls that ask a disk, a machine, a switch or a cluster. */
const asks = /^(?:await )?(?:read|list|find|get|probe|query|parse|run)[A-Z]?\w*\(/;
/** Pattern of things that these have several of. */
const subjects = new RegExp(
  `(?:^|[.?(])(?:${[
    'disks|devices|drives|volumes|arrays|partitions|esps|links|symlinks|devlinks|serials|wwns|aliases|holders|contents',
    'children|claims|systems|ports|portIds|interfaces|vlans|ids|bonds|bridges|neighbors|candidates|fitting|matching|found',
    'nodes|pods|members|own|others|places|lines|entries|variables|addresses|bmcAddresses|nics|macs|disk|its',
    'Members|Managers|ManagedBy|Systems|Drives|Volumes|Chassis|Controllers|MemberOf',
  ].join('|')})$`,
);

/** Whether a piece of code is something of the outside, as it was read. */
function isOutside(code: string): boolean {
  const [text = ''] = code
    .replaceAll(/\s+/g, ' ')
    .split(/(?<=[\w)])\??\.(?=(?:filter|map|flatMap|split|slice|toSorted|sort|find)\()/);
  return asks.test(text.replace(/^\(+/, '')) || subjects.test(text);
}

/** The list of which the first is taken. */
function listOfFirst(node: Node): Node | undefined {
  if (node.type === 'MemberExpression' && node.computed) {
    return node.property.type === 'Literal' && node.property.value === 0 ? node.object : undefined;
  }
  if (node.type === 'VariableDeclarator' && node.id.type === 'ArrayPattern') {
    const { elements } = node.id;
    return elements.length === 1 && elements[0]?.type === 'Identifier' && node.init ? node.init : undefined;
  }
  if (node.type !== 'CallExpression' || node.callee.type !== 'MemberExpression') return undefined;
  const { object, property } = node.callee;
  const name = property.type === 'Identifier' ? property.name : '';
  const [argument] = node.arguments;
  if (name === 'shift') return object;
  if (name === 'at') return argument?.type === 'Literal' && argument.value === 0 ? object : undefined;
  return ['find', 'findLast'].includes(name) && argument && !isByKey(argument) ? object : undefined;
}

/** `({ name }) => name === wanted`: the one of that name. */
function isByKey(test: Node): boolean {
  if (test.type !== 'ArrowFunctionExpression') return false;
  const { body } = test;
  const parts = body.type === 'LogicalExpression' && body.operator === '&&' ? [body.left, body.right] : [body];
  return parts.some((part) => part.type === 'BinaryExpression' && part.operator === '===');
}

/** Whether the function looks at how many there are, or they have an order: our rows, fields of a line. */
function isCounted(list: Node, { node, within, textOf }: Place): boolean {
  const text = textOf(list).replaceAll(/\s+/g, ' ');
  if (/^\(?await (?:(?:db|tx)\b|[\w.]+\((?:db|tx)\b)|\.find\(|^\[[^.]|\(.*\[\w+(?:\.\w+)?\].*\)/.test(text))
    return true;
  if (node.type !== 'CallExpression' && /\.(?:exec|match|split)\(.*\)$/.test(text)) return true;
  const around = within.find(isFunction);
  return /^[\w.?]+$/.test(text) && around !== undefined && textOf(around).includes(`${text}.length`);
}

function isFunction({ type }: Node): boolean {
  return ['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'].includes(type);
}

/** Where a source takes for a fact what it has not read, each place with its shape. Pure. */
export function findAssumedFacts(text: string): AssumedFact[] {
  const found: AssumedFact[] = [];
  const textOf = ({ start, end }: Node): string => text.slice(start, end);
  const visit = (node: Node, within: readonly Node[]): void => {
    for (const [shape, isMet] of Object.entries(shapes) as [Shape, (place: Place) => boolean][]) {
      if (isMet({ node, within, textOf })) found.push({ shape, code: textOf(node).replaceAll(/\s+/g, ' ') });
    }
    const around = [node, ...within];
    for (const child of Object.values(node).flat()) if (isNode(child)) visit(child, around);
  };
  visit(parseSync('source.ts', text).program, []);
  return found;
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value;
}
