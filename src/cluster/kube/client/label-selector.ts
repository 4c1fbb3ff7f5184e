type Labels = Readonly<Record<string, string>>;

const SET_BASED = /^([^\s=!,()]+)\s+(in|notin)\s+\(([^()]*)\)$/;
const EQUALITY = /^([^\s=!,()]+)\s*(==|=|!=)\s*([^\s=!,()]*)$/;
const EXISTENCE = /^(!?)\s*([^\s=!,()]+)$/;
/** Commas between requirements, but not inside parentheses. */
const SEPARATOR = /,(?![^(]*\))/;

/**
 * Whether labels match a label selector such as `a=b,c!=d,e,!f,g in (h,i),j notin (k)`. The evaluation equals the
 * evaluation by the API server. undefined: the text is not a valid selector.
 */
export function matchesLabelSelector(selector: string, labels: Labels = {}): boolean | undefined {
  let matches = true;
  for (const requirement of selector.split(SEPARATOR)) {
    const met = meets(requirement.trim(), labels);
    if (met === undefined) return undefined;
    matches &&= met;
  }
  return matches;
}

function meets(requirement: string, labels: Labels): boolean | undefined {
  if (requirement === '') return true;
  const setBased = SET_BASED.exec(requirement);
  if (setBased !== null) {
    const [, label = '', operator, values = ''] = setBased;
    const listed = values.split(',').some((value) => value.trim() === labels[label]);
    return operator === 'in' ? listed : !listed;
  }
  const equality = EQUALITY.exec(requirement);
  if (equality !== null) {
    const [, label = '', operator, value] = equality;
    return (labels[label] === value) === (operator !== '!=');
  }
  const existence = EXISTENCE.exec(requirement);
  if (existence === null) return undefined;
  const [, negated, label = ''] = existence;
  return (labels[label] !== undefined) === (negated === '');
}
