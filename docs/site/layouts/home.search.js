{{- /* Every part of every page, from one heading to the next. A script and no JSON, so that it loads without a server. */ -}}
{{- $parts := slice -}}
{{- range site.RegularPages -}}
  {{- $address := partial "address.html" . -}}
  {{- $title := partial "name.html" . -}}
  {{- range after 1 (split (replaceRE `<h[1-6] id="` "\u0001" .Content) "\u0001") -}}
    {{- $anchor := index (split . `"`) 0 -}}
    {{- $halves := split (replaceRE `^(?s)[^>]*>(.*?)</h[1-6]>` "$1\u0001" . 1) "\u0001" -}}
    {{- $heading := replaceRE `(?s) <a class="anchor".*` "" (index $halves 0) | plainify | htmlUnescape -}}
    {{- $text := index $halves 1 | replaceRE `</(p|li|td|tr|pre|div)>` " " | plainify | htmlUnescape | replaceRE `\s+` " " | strings.TrimSpace -}}
    {{- $parts = $parts | append (dict "address" (printf "%s#%s" $address $anchor) "title" $title "heading" $heading "text" $text) -}}
  {{- end -}}
{{- end -}}
window.siteParts = {{ $parts | jsonify }}
