/** The part of a path after which a tenant chooses the name, such as of a variable. */
const CHOSEN = /^(?:source_revision_config\.)?(?:env|commands|upload|secrets|secret_references)\./;

/** The path of a field. A name that a tenant chose is isolated from the part before it. */
export function FieldName({ field }: { readonly field: string }) {
  const before = CHOSEN.exec(field)?.[0] ?? '';
  return (
    <>
      {before !== '' && <span>{before}</span>}
      <bdi>{field.slice(before.length)}</bdi>
    </>
  );
}
