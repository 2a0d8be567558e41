/**
 * Filter expressions of rules for ports, in the language of Ironic's trait-based networking
 * (https://docs.openstack.org/ironic/latest/references/trait-based-networking/filter-expression-reference.html):
 * `port.vendor == 'green' && (port.category =~ 'fast' || port.is_portgroup)`. `&&` binds closer than `||`.
 */

/** Port or port group, and network, that a filter looks at. */
export interface FilterSubject {
  readonly isGroup: boolean;
  readonly address: string | null;
  readonly category: string | null;
  readonly physicalNetwork: string | null;
  readonly vendor: string | null;
  /** `undefined`: any; expressions about the network hold. */
  readonly network: string | undefined;
}

export type Filter = (subject: FilterSubject) => boolean;

type Value = (subject: FilterSubject) => string | null | undefined;

const variables: Readonly<Record<string, Value>> = {
  'network.name': ({ network }) => network,
  'port.address': ({ address }) => address,
  'port.category': ({ category }) => category,
  'port.physical_network': ({ physicalNetwork }) => physicalNetwork,
  'port.vendor': ({ vendor }) => vendor,
};

const functions: Readonly<Record<string, Filter>> = {
  'port.is_port': ({ isGroup }) => !isGroup,
  'port.is_portgroup': ({ isGroup }) => isGroup,
};

const comparators: Readonly<Record<string, (value: string, literal: string) => boolean>> = {
  '==': (value, literal) => value === literal,
  '!=': (value, literal) => value !== literal,
  '>=': (value, literal) => value >= literal,
  '>': (value, literal) => value > literal,
  '<=': (value, literal) => value <= literal,
  '<': (value, literal) => value < literal,
  '=~': (value, literal) => value.startsWith(literal),
};

const token = /\s*(?:('[\w.-]*')|([a-z]+\.[a-z_]+)|(==|!=|>=|<=|=~|>|<|&&|\|\||\(|\)))/y;

interface Reader {
  readonly peek: () => string | undefined;
  readonly take: () => string | undefined;
}

/** @throws Error with what is wrong with the expression, and what would be right */
export function parseFilter(text: string): Filter {
  const tokens = tokensOf(text);
  let place = 0;
  const reader: Reader = {
    peek: () => tokens[place],
    take: () => {
      place += 1;
      return tokens[place - 1];
    },
  };
  const filter = readAny(reader);
  if (reader.peek() !== undefined) throw new Error(`there is '${reader.peek()}' where && or || or the end should be`);
  return filter;
}

function tokensOf(text: string): string[] {
  const found: string[] = [];
  token.lastIndex = 0;
  let end = 0;
  for (let match = token.exec(text); match; match = token.exec(text)) {
    found.push(match[1] ?? match[2] ?? match[3] ?? '');
    end = token.lastIndex;
  }
  const rest = text.slice(end).trim();
  if (rest !== '') throw new Error(`'${rest}' is no variable, comparator or text in single quotes`);
  return found;
}

function readAny(reader: Reader): Filter {
  const parts = [readAll(reader)];
  while (reader.peek() === '||') {
    reader.take();
    parts.push(readAll(reader));
  }
  return (subject) => parts.some((part) => part(subject));
}

function readAll(reader: Reader): Filter {
  const parts = [readOne(reader)];
  while (reader.peek() === '&&') {
    reader.take();
    parts.push(readOne(reader));
  }
  return (subject) => parts.every((part) => part(subject));
}

function readOne(reader: Reader): Filter {
  const first = reader.take();
  if (first === '(') {
    const inner = readAny(reader);
    if (reader.take() !== ')') throw new Error('a ) is missing');
    return inner;
  }
  const holds = functions[first ?? ''];
  if (holds) return holds;
  const valueOf = variables[first ?? ''];
  if (!valueOf) {
    const known = [...Object.keys(variables), ...Object.keys(functions)].join(', ');
    throw new Error(`${first === undefined ? 'it ends' : `'${first}' stands`} where one of ${known} should be`);
  }
  const compare = comparators[reader.take() ?? ''];
  if (!compare) throw new Error(`${first} must be followed by one of ${Object.keys(comparators).join(' ')}`);
  const literal = reader.take();
  if (!literal?.startsWith("'")) throw new Error(`${first} must be compared with a text in single quotes`);
  return (subject) => {
    const value = valueOf(subject);
    // any network; a port that has no vendor is neither of one nor not of one
    if (value === undefined) return true;
    return value !== null && compare(value, literal.slice(1, -1));
  };
}
