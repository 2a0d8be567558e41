import { Scalar, type ScalarTag } from 'yaml';

/**
 * Plain scalars as PyYAML's SafeLoader resolves them, and with it Deckhand, Shipyard and Drydock: YAML 1.1, but for `y` and
 * `n`, which are text, and for exponents, which need a dot and a sign. Dates stay text, as JSON has none. So does what looks
 * like a MAC address, which PyYAML takes for a number in base 60 if its groups allow it.
 */

const tag = (name: string, test: RegExp, resolve: (text: string) => unknown): ScalarTag => ({
  tag: `tag:yaml.org,2002:${name}`,
  default: true,
  test,
  resolve,
});

const macAddress = /^\d\d(?::\d\d){5}$/;

const booleans = tag(
  'bool',
  /^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$/,
  (text) => /^(?:yes|true|on)$/i.test(text),
);

const nulls: ScalarTag = {
  ...tag('null', /^(?:~|null|Null|NULL)?$/, () => new Scalar(null)),
  createNode: () => new Scalar(null),
};

const wholes = tag(
  'int',
  /^[-+]?(?:0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|[1-9][0-9_]*(?::[0-5]?[0-9])+)$/,
  (text) => {
    if (macAddress.test(text)) return text;
    const digits = text.replaceAll('_', '').replace(/^[-+]/, '');
    const value = digits.includes(':') ? inBase60(digits) : Number(digits.replace(/^0(?=[0-7])/, '0o'));
    return text.startsWith('-') ? -value : value;
  },
);

const fractions = tag(
  'float',
  /^(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/,
  (text) => {
    const sign = text.startsWith('-') ? -1 : 1;
    const digits = text.toLowerCase().replaceAll('_', '').replace(/^[-+]/, '');
    if (digits === '.nan') return Number.NaN;
    if (digits === '.inf') return sign * Number.POSITIVE_INFINITY;
    return sign * (digits.includes(':') ? inBase60(digits) : Number(digits));
  },
);

function inBase60(text: string): number {
  return text.split(':').reduce((sum, part) => sum * 60 + Number(part), 0);
}

/** With schema `failsafe`, so that no others are tried. */
export const pyYamlTags = [nulls, booleans, wholes, fractions];
